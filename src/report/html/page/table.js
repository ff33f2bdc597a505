// Tables: one that sorts and filters, and the plain one under a chart that gives its numbers to readers who cannot see it.
"use strict";

const FIRST_ROWS = 200;  // of a long table; a button shows the others; sorting and filtering use all

// A table of src/report/view.h: columns are [title, kind], cells a text or [text, below, value, in doubt].
const cellOf = (cell) => {
  const [text, below = "", value = null, inDoubt = false] = [cell].flat();
  return {text, below, value, inDoubt};
};
const isMarked = (row) => row.some((cell) => cellOf(cell).text.endsWith(" †"));

// Shown above a table whose rows may be marked.
function loadBanner({rows}) {
  const marked = rows.filter(isMarked).length;
  return marked ? element("p", {class: "banner"}, `† ${plural(marked, "row")} of ${format.count(rows.length)} in doubt: ` +
    "measured beside other processes, throttled, or with repetitions that differ widely.") : null;
}

// Sorts by the values of cells, or by their texts; unknown ones come last either way.
function sortableTable({title: caption, columns, rows}) {
  const head = columns.map((column, index) => {
    const button = element("button", {type: "button", onclick: () => sortBy(index)}, column[0],
                           element("span", {class: "arrow", "aria-hidden": "true"}, "↕"));
    const kind = column[1] === "number" ? "number" : null;
    return element("th", {scope: "col", role: "columnheader", class: kind, "aria-sort": "none"}, button);
  });
  const body = element("tbody");
  const status = element("p", {class: "status", role: "status"});
  const more = element("button", {type: "button", class: "more", onclick: () => { most = Infinity; fill(); }}, "Show all rows");
  let order = rows.map((_, index) => index), most = FIRST_ROWS, sorted = -1, ascending = true, wanted = "", texts = null;

  function sortBy(index) {
    ascending = sorted === index ? !ascending : columns[index][1] !== "number";  // the largest number first
    sorted = index;
    const values = rows.map((row) => cellOf(row[index])).map(({text, value}) => value ?? text);
    order.sort((a, b) => compare(values[a], values[b], ascending) || a - b);
    head.forEach((cell, at) => {
      cell.setAttribute("aria-sort", at !== index ? "none" : ascending ? "ascending" : "descending");
      cell.querySelector(".arrow").textContent = at !== index ? "↕" : ascending ? "↑" : "↓";
    });
    fill();
  }

  function search(text) {
    texts = texts || rows.map((row) => row.map((cell) => cellOf(cell).text).join("\n").toLowerCase());
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
  }}, columns.map((column, index) => element("option", {value: index}, column[0]))));
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

// What a cell of this kind contains.
function cellContent(kind, text) {
  if (kind === "name") return breakable(text);
  if (kind === "finding" && text) return colored(text);
  if (kind !== "commands") return text;
  return element("div", {}, text.split("\n").map((command) => element("div", {}, element("code", {}, command))));
}

// On a narrow screen a row is a card, in which each cell is labeled with its column's title and empty cells are left out. The
// roles keep it a table for screen readers.
function tableCell([title, kind], cell, at) {
  const {text, below, inDoubt} = cellOf(cell), content = cellContent(kind, text);
  const small = below ? element("small", {}, below) : null;
  if (at === 0) return element("th", {scope: "row", role: "rowheader"}, content, small);
  const kinds = [kind === "number" ? "number" : null, ["prose", "commands"].includes(kind) ? "prose" : null,
                 text === "" ? "empty" : null, inDoubt ? "gray" : null];
  return element("td", {class: kinds.filter(Boolean).join(" ") || null, role: "cell", "data-label": title}, content, small);
}

const tableRow = (columns, row) => element("tr", {role: "row"}, row.map((cell, at) => tableCell(columns[at], cell, at)));

// A table wider than the page scrolls on its own, also with the keyboard. head: texts or cells.
function scrollableTable(caption, head, body) {
  const cells = head.map((title) => typeof title === "string"
    ? element("th", {scope: "col", role: "columnheader"}, title) : title);
  body.setAttribute("role", "rowgroup");
  return element("div", {class: "scroll", role: "group", tabindex: "0", "aria-label": caption}, element("table", {role: "table"},
    element("caption", {}, caption),
    element("thead", {role: "rowgroup"}, element("tr", {role: "row"}, cells)), body));
}

// The numbers of a chart, made when they are first asked for.
function numbersBelow({title, columns, rows}) {
  const details = element("details", {class: "numbers"}, element("summary", {}, "The numbers as a table"));
  details.addEventListener("toggle", () => {
    if (details.querySelector("table")) return;
    const body = element("tbody", {}, rows.map((row) => tableRow(columns, row)));
    details.append(scrollableTable(title, columns.map(([head]) => head), body));
  });
  return details;
}

const numberedNotes = ({notes}) => notes.length ? element("details", {}, element("summary", {}, "Notes: what to know of these rows"),
  element("ol", {class: "notes"}, notes.map((note) => element("li", {}, note)))) : null;
