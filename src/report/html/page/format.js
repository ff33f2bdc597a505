// Nodes, and the numbers of axes and marks of charts as src/base/numbers.cpp writes them: three significant digits and a unit;
// anything that is not a number is not known. Text enters the page only through element(), as text and never as markup.
"use strict";

const UNKNOWN = "not known";
const isKnown = (value) => typeof value === "number" && Number.isFinite(value);
const scaled = (value, factor) => isKnown(value) ? value * factor : null;
const isSomething = (value) => value !== null && value !== undefined && value !== "";

function significant(value, digits = 3) {
  if (!isKnown(value)) return UNKNOWN;
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e15) return value.toExponential(digits - 1);
  const nearest = Number(value.toPrecision(digits));
  const before = Math.floor(Math.log10(Math.abs(nearest))) + 1;
  return nearest.toFixed(Math.max(0, digits - before));
}

// The [factor, unit] with which a value of this size reads best on an axis.
function secondsUnit(size) {
  if (size < 1e-3) return [1e6, "µs"];
  if (size < 1) return [1e3, "ms"];
  if (size < 120) return [1, "s"];
  if (size < 7200) return [1 / 60, "min"];
  return size < 172800 ? [1 / 3600, "h"] : [1 / 86400, "d"];
}
function prefixUnit(size, base, prefixes, unit) {
  let step = 0;
  while (step + 1 < prefixes.length && size / base ** step >= base - 0.5) step++;
  return [base ** -step, prefixes[step] + unit];
}
const bytesUnit = (size) => prefixUnit(size, 1024, ["", "Ki", "Mi", "Gi", "Ti", "Pi"], "B");
const siUnit = (size, unit) => prefixUnit(size, 1000, ["", "k", "M", "G", "T", "P", "E"], unit);
function inUnit(value, [factor, unit]) { return `${significant(value * factor)} ${unit}`; }

const format = {
  count: (value) => isKnown(value) ? Math.round(value).toLocaleString("en-US") : UNKNOWN,
};

// Ticks of logarithmic axes of times and of bytes: [in the base unit, text].
const TIME_TICKS = [[1e-6, "1 µs"], [1e-5, "10 µs"], [1e-4, "100 µs"], [1e-3, "1 ms"], [0.01, "10 ms"], [0.1, "100 ms"],
                    [1, "1 s"], [10, "10 s"], [60, "1 min"], [600, "10 min"], [3600, "1 h"], [36000, "10 h"], [86400, "1 d"],
                    [864000, "10 d"], [8640000, "100 d"]];
const BYTE_TICKS = ["KiB", "MiB", "GiB", "TiB"].flatMap((unit, power) =>
  [1, 10, 100].map((times) => [times * 1024 ** (power + 1), `${times} ${unit}`]));

// A tick of an axis: "0.02", "40", "12k".
function short(value) {
  const size = Math.abs(value);
  for (const [limit, letter] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]])
    if (size >= (letter === "k" ? 1e4 : limit)) return Number((value / limit).toPrecision(3)) + letter;
  return size > 0 && size < 1e-3 ? value.toExponential() : String(Number(value.toPrecision(3)));
}

// A node with attributes; "on..." are listeners; children that are null are left out.
function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

// The color of a verdict, by its words after the mark: "✗ not reproduced (published)".
const verdictClass = (text) => `verdict v-${text.replace(/^. | \(.*/gu, "").replaceAll(" ", "_")}`;
const colored = (text) => element("span", {class: verdictClass(text)}, text);
const folded = (summary, ...content) => element("details", {}, element("summary", {}, summary), ...content);

// A run's name, with a possible line break after each part.
function breakable(name) {
  const parts = name.split("/");
  return element("span", {}, parts.map((part, at) => at + 1 < parts.length ? [part + "/", element("wbr")] : part).flat());
}

const plural = (count, one, many = one + "s") => `${format.count(count)} ${count === 1 ? one : many}`;

// [key, items] of each key, in the order in which keys first come; numbers as keys become texts in ascending order.
const groupBy = (items, key) => d3.nest().key(key).entries(items).map((group) => [group.key, group.values]);
