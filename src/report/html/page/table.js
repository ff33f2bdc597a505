// Tables: one that sorts and filters, and the plain one under a chart that gives its numbers to readers who cannot see it.
"use strict";

const FIRST_ROWS = 200;  // of a long table; the others are a button away, and sorting and filtering see all of them

// Columns that many tables have: a number; an interval, sorted by its lower end; a run's name at the head of its row.
const numberColumn = (title, value, text) => ({title, value, text, number: true});
const intervalColumn = (ends, text) => ({title: "95 % interval", number: true, value: (row) => ends(row) && ends(row)[0],
                                         text: (_, row) => format.interval(ends(row), text)});
const nameColumn = (title, value) => ({title, value, head: true, node: (row) => breakable(value(row))});

// columns: {title, value(row)}; may have: text(value, row) or node(row), what is shown; number, head, prose, the cell's kind.
// The value is what sorts; null comes last either way.
function sortableTable(caption, columns, rows) {
  const head = columns.map((column, index) => {
    const button = element("button", {type: "button", onclick: () => sortBy(index)}, column.title,
                           element("span", {class: "arrow", "aria-hidden": "true"}, "↕"));
    return element("th", {scope: "col", class: column.number ? "number" : null, "aria-sort": "none"}, button);
  });
  const body = element("tbody");
  const status = element("p", {class: "status", role: "status"});
  const more = element("button", {type: "button", class: "more", onclick: () => { most = Infinity; fill(); }}, "Show all rows");
  let order = rows.map((_, index) => index), most = FIRST_ROWS, sorted = -1, ascending = true, wanted = "", texts = null;

  function sortBy(index) {
    ascending = sorted === index ? !ascending : !columns[index].number;  // the largest number first
    sorted = index;
    const values = rows.map((row) => columns[index].value(row));
    order.sort((a, b) => compare(values[a], values[b], ascending) || a - b);
    head.forEach((cell, at) => {
      cell.setAttribute("aria-sort", at !== index ? "none" : ascending ? "ascending" : "descending");
      cell.querySelector(".arrow").textContent = at !== index ? "↕" : ascending ? "↑" : "↓";
    });
    fill();
  }

  function search(text) {
    texts = texts || rows.map((row) => columns.map((column) => cellText(column, row)).join("\n").toLowerCase());
    wanted = text.trim().toLowerCase();
    fill();
  }

  function fill() {
    const matching = wanted ? order.filter((index) => texts[index].includes(wanted)) : order;
    const shown = matching.slice(0, most);
    body.replaceChildren(...shown.map((index) => tableRow(columns, rows[index])));
    more.hidden = shown.length === matching.length;
    status.textContent = shown.length === rows.length ? ""
      : `${format.count(shown.length)} of ${plural(rows.length, "row")} shown`;
  }

  const filter = rows.length < 8 ? null : element("label", {}, "Only rows with ",
    element("input", {type: "search", oninput: (event) => search(event.target.value)}));
  fill();
  return element("div", {}, element("div", {class: "controls"}, filter, status), scrollableTable(caption, head, body), more);
}

function compare(a, b, ascending) {
  if (!isSomething(a) || !isSomething(b)) return isSomething(b) - isSomething(a);
  const numbers = typeof a === "number" && typeof b === "number";
  const order = numbers ? a - b : String(a).localeCompare(String(b), "en", {numeric: true});
  return ascending ? order : -order;
}

function cellText(column, row) {
  const value = column.value(row);
  if (!isSomething(value)) return "";
  return column.text ? column.text(value, row) : String(value);
}

function tableRow(columns, row) {
  return element("tr", {}, columns.map((column) => {
    const content = column.node ? column.node(row) : cellText(column, row);
    if (column.head) return element("th", {scope: "row"}, content);
    return element("td", {class: column.number ? "number" : column.prose ? "prose" : null}, content);
  }));
}

// Wide tables scroll within themselves; the keyboard reaches them too. head: texts or cells.
function scrollableTable(caption, head, body) {
  const cells = head.map((title) => typeof title === "string" ? element("th", {scope: "col"}, title) : title);
  return element("div", {class: "scroll", role: "region", tabindex: "0", "aria-label": caption}, element("table", {},
    element("caption", {}, caption), element("thead", {}, element("tr", {}, cells)), body));
}

// The numbers of a chart, made when they are first asked for. rows: arrays of text, the first the row's head.
function numbersBelow(caption, titles, makeRows) {
  const details = element("details", {class: "numbers"}, element("summary", {}, "The numbers as a table"));
  const cell = (text, at) => at === 0 ? element("th", {scope: "row"}, text) : element("td", {}, text);
  details.addEventListener("toggle", () => {
    if (details.querySelector("table")) return;
    const rows = makeRows().map((row) => element("tr", {}, row.map(cell)));
    details.append(scrollableTable(caption, titles, element("tbody", {}, rows)));
  });
  return details;
}
