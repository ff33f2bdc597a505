// Tables: one that sorts and filters, and the plain one under a chart that gives its numbers to readers who cannot see it.
"use strict";

const FIRST_ROWS = 200;  // of a long table; a button shows the others; sorting and filtering use all

// Shown above a table whose rows may be marked; rows: with doubts or a load.
function loadBanner(rows) {
  const marked = rows.filter((row) => row.loaded || (row.doubts && row.doubts.length)).length;
  return marked ? element("p", {class: "banner"}, `† ${plural(marked, "row")} of ${format.count(rows.length)} in doubt: ` +
    "measured beside other processes, throttled, or with repetitions that differ widely.") : null;
}

// Columns that many tables have: a number; a run's name at the head of its row.
const numberColumn = (title, value, text) => ({title, value, text, number: true});
const nameColumn = (title, value) => ({title, value, head: true, node: (row) => breakable(value(row))});

// columns: {title, value(row)}; may have: text(value, row) or node(row), what is shown; small(row), a line below it; gray(row),
// whether it is in doubt; number, head, prose, the cell's kind. The value is what sorts; null comes last either way.
function sortableTable(caption, columns, rows) {
  const head = columns.map((column, index) => {
    const button = element("button", {type: "button", onclick: () => sortBy(index)}, column.title,
                           element("span", {class: "arrow", "aria-hidden": "true"}, "↕"));
    const kind = column.number ? "number" : null;
    return element("th", {scope: "col", role: "columnheader", class: kind, "aria-sort": "none"}, button);
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
  const sorter = element("label", {class: "sort"}, "Sort by ", element("select", {onchange: (event) => {
    sorted = -1;
    sortBy(Number(event.target.value));
  }}, columns.map((column, index) => element("option", {value: index}, column.title))));
  fill();
  return element("div", {}, element("div", {class: "controls"}, filter, rows.length < 8 ? null : sorter, status),
                 scrollableTable(caption, head, body), more);
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

// On a narrow screen a row is a card, in which each cell is labeled with its column's title and empty cells are left out. The
// roles keep it a table for screen readers.
function tableCell(column, row) {
  const content = column.node ? column.node(row) : cellText(column, row), small = column.small && column.small(row);
  const below = isSomething(small) ? element("small", {}, small) : null;
  if (column.head) return element("th", {scope: "row", role: "rowheader"}, content, below);
  const kinds = [column.number ? "number" : null, column.prose ? "prose" : null, content === "" ? "empty" : null,
                 column.gray && column.gray(row) ? "gray" : null];
  const classes = kinds.filter(Boolean).join(" ") || null;
  return element("td", {class: classes, role: "cell", "data-label": column.title}, content, below);
}

const tableRow = (columns, row) => element("tr", {role: "row"}, columns.map((column) => tableCell(column, row)));

// A table wider than the page scrolls on its own, also with the keyboard. head: texts or cells.
function scrollableTable(caption, head, body) {
  const cells = head.map((title) => typeof title === "string"
    ? element("th", {scope: "col", role: "columnheader"}, title) : title);
  body.setAttribute("role", "rowgroup");
  return element("div", {class: "scroll", role: "group", tabindex: "0", "aria-label": caption}, element("table", {role: "table"},
    element("caption", {}, caption),
    element("thead", {role: "rowgroup"}, element("tr", {role: "row"}, cells)), body));
}

// The numbers of a chart, made when they are first asked for. rows: arrays of text, the first the row's head.
function numbersBelow(caption, titles, makeRows) {
  const details = element("details", {class: "numbers"}, element("summary", {}, "The numbers as a table"));
  const cell = (text, at) => at === 0 ? element("th", {scope: "row", role: "rowheader"}, text)
    : element("td", {role: "cell", "data-label": titles[at]}, text);
  details.addEventListener("toggle", () => {
    if (details.querySelector("table")) return;
    const rows = makeRows().map((row) => element("tr", {role: "row"}, row.map(cell)));
    details.append(scrollableTable(caption, titles, element("tbody", {}, rows)));
  });
  return details;
}
