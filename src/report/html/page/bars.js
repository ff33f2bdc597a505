// The sections of bars: throughput, time, cost and energy of an epoch, memory. One chart each, with all workloads on one axis.
"use strict";

const MOST_BARS = 40;  // or lines, of one chart
const FAR_APART = 30;  // times: on an axis that begins at 0 the smaller would be invisible

// "GPU bf16", "CPU fp32 threads=1", "CPU PyTorch fp32"; the data set is shown beside the model.
function rowLabel(row) {
  const settings = row.settings.split("/").filter((one) => !one.startsWith("data=")).join("/");
  const device = row.on_gpu ? "GPU" : ["cpu", "pytorch"].includes(row.backend) ? "CPU" : row.backend;
  return [device, row.backend === "pytorch" ? "PyTorch" : null, row.precision, settings].filter(Boolean).join(" ");
}

// Keeps the latest of rows that differ only in the file; the others belong to the history.
function latest(rows, data) {
  const newest = new Map();
  for (const row of rows) {
    const key = [row.workload, row.settings, row.backend, row.precision, row.device, machineOf(data, row)].join("\n");
    const known = newest.get(key);
    if (!known || fileOf(data, known).date <= fileOf(data, row).date) newest.set(key, row);
  }
  return [...newest.values()];
}

// One entry for each color; null for a single one.
function inkLegend(rows) {
  const names = new Map(rows.map((row) => [inkName(row.precision, row.on_gpu, row.backend),
                                           looks(row.precision, row.on_gpu, row.backend)]));
  return names.size < 2 ? null
    : legend([...names].map(([label, classes]) => ({label, classes, line: false, symbol: "square"})));
}

// Groups rows of one kind of work, with the smallest batch first.
function inGroups(rows) {
  return groupBy(rows, (row) => row.work).flatMap(([, own]) => [...own].sort((a, b) => a.batch - b.batch));
}

// What is drawn of a quantity: {value, ends, text, spread}; may have: each (single repetitions), tick.
// quantity: {label, key, unitOf(greatest)}; may have: suffix(drawn), tick (a key of what is drawn), alone (without headings of
// groups), certain (whatever else ran), marks and base (ticks of a logarithmic axis, and its name).
function bar(row, quantity, label) {
  const {value, ends, each, text, spread, [quantity.tick]: tick} = row[quantity.key];
  const interval = ends ? `, 95 % interval ${spread}` : "";
  const doubts = row.doubts.map((doubt) => `; ${doubt}`).join("");
  return {label, group: quantity.alone ? null : row.work, value, ends, tick, each, text,
          classes: looks(row.precision, row.on_gpu, row.backend), hatched: row.on_gpu,
          hint: `${row.name}, ${row.device}: ${text}${interval}${doubts}`};
}

function farApart(rows, quantity) {
  const [least, greatest] = d3.extent(rows, (row) => row[quantity.key].value);
  return greatest / least > FAR_APART;
}

// null if all are drawn.
function restText(count, what) {
  if (count <= MOST_BARS) return null;
  return element("p", {class: "muted"}, `The first ${MOST_BARS} of ${format.count(count)} ${what}; the table has all.`);
}

// What the page has no room for; null if it shows all.
function moreText(count, what, shownBy) {
  return count > 0 ? element("p", {}, `And ${plural(count, what)} more, which ${shownBy}.`) : null;
}

function barPanel(rows, quantity, labelOf) {
  const shown = rows.slice(0, MOST_BARS), log = farApart(shown, quantity);
  const [factor, unit] = log && quantity.marks ? [1, quantity.base] : quantity.unitOf(d3.max(shown, (row) => row[quantity.key].value));
  const bars = shown.map((row) => bar(row, quantity, labelOf(row)));
  return barsPanel(null, bars, {factor, unit, log, label: quantity.label, marks: quantity.marks}, restText(rows.length, "rows"));
}

// With the machine's letter if there are several.
function labelsOf(data, rows) {
  const several = new Set(rows.map((row) => machineOf(data, row))).size > 1;
  return (row) => (several ? `${machineName(data, machineOf(data, row))}: ` : "") + `${rowLabel(row)} b${row.batch}`;
}

// "lenet5, digits"; synthetic data are not mentioned.
const shortWork = (row) => row.work.replace(/, synthetic$/, "");

// What the marks of these rows mean, if they have any.
function spreadKey(rows, quantity) {
  return (rows.some((row) => row[quantity.key].ends) ? " Whiskers: the 95 % interval over repetitions." : "") +
    (rows.some((row) => row[quantity.key].each) ? " Circles: each of two to four repetitions." : "");
}

// null if no row has the quantity.
function barFigure(data, quantity, caption) {
  const known = data.rows.filter((row) => row[quantity.key] && row[quantity.key].value > 0);
  const rows = inGroups(latest(known, data)), label = labelsOf(data, rows);
  if (!rows.length) return null;
  const alone = new Set(rows.map((row) => row.work)).size === rows.length;  // then headings would only take room
  const labelOf = (row) => (alone ? `${shortWork(row)}: ` : "") + label(row) + (quantity.suffix ? quantity.suffix(row[quantity.key]) : "") +
    (row.doubts.length && !quantity.certain ? "\u00a0†" : "");
  const notes = [rows.some((row) => row.on_gpu) ? " Hatched, or a triangle: a GPU." : "",
                 rows.length < known.length ? " If a run has several dates, the latest is shown; the history has the others." : "",
                 farApart(rows, quantity) ? " Dots on a logarithmic axis, as values lie far apart." : ""];
  const numbers = rows.map((row) => [rowName(data, row), row[quantity.key].text, row[quantity.key].spread || UNKNOWN]);
  const columns = [["run", "text"], [quantity.label, "number"], ["95 % interval, or range", "text"]];
  return figure(caption + spreadKey(rows, quantity) + notes.join(""), inkLegend(rows), barPanel(rows, {...quantity, alone}, labelOf),
    numbersBelow({title: quantity.label, columns, rows: numbers}));
}

const THROUGHPUT = {
  label: "Samples per second", key: "rate",
  unitOf: (greatest) => greatest < 1e5 ? [1, "samples/s"] : [1e-3, "thousand samples/s"],
};

// For each work, device and precision the row with the fastest batch.
function fastest(data) {
  const best = new Map();
  for (const row of latest(data.rows, data).filter((one) => one.rate.value > 0 && !one.restricted)) {
    const key = [row.work, row.backend, row.device, row.precision, machineOf(data, row)].join("\n"), known = best.get(key);
    if (!known || known.rate.value < row.rate.value) best.set(key, row);
  }
  return [...best.values()];
}

const MOST_FASTEST = 16;  // more do not fit the first screen

// The first screen's chart: one bar per work, device and precision.
function fastestSection(data) {
  const all = inGroups(fastest(data)), rows = all.slice(0, MOST_FASTEST), label = labelsOf(data, rows);
  if (!rows.length) return null;
  const rest = rows.length < all.length ? ` The first ${rows.length} of ${all.length}; the section on throughput has all.` : "";
  const labelOf = (row) => `${shortWork(row)}: ${label(row)}${row.doubts.length ? "\u00a0†" : ""}`;
  return figure(`Samples per second, each at its fastest batch.${spreadKey(rows, THROUGHPUT)}${rest}`, inkLegend(rows),
    barPanel(rows, {...THROUGHPUT, alone: true}, labelOf));
}

// null if the first screen shows all of it.
function throughputSection(data) {
  if (data.head.lead === "throughput" && latest(data.rows, data).length === fastest(data).length) return null;
  return barFigure(data, THROUGHPUT, "The geometric mean of the repetitions, waits for data included.");
}

// What the epochs of a chart or a table are.
const epochsNote = (data) => data.epochs ? ` An epoch: ${data.epochs}.` : "";

const epochSection = (data) => barFigure(data, {
  label: "Time of an epoch", key: "epoch", unitOf: secondsUnit, marks: TIME_TICKS, base: "time",
  suffix: ({measured}) => measured ? " (measured)" : "",
}, `Projected from the measured steps, unless measured${data.rows.some((row) => row.cost) ? "; with its cost" : ""}.` +
   epochsNote(data));

// null for a single price: then the cost is that price times the time.
function costSection(data) {
  const prices = new Set(data.rows.filter((row) => row.cost).map((row) => row.usd_per_hour));
  if (prices.size < 2) return null;
  return barFigure(data, {label: "Cost of an epoch", key: "cost", unitOf: () => [1, "USD"]},
    `The price of an hour times the time of an epoch, without set-up and evaluation.${epochsNote(data)}`);
}

const energySection = (data) => barFigure(data, {
  label: "Energy of an epoch", key: "energy", unitOf: (greatest) => siUnit(greatest, "J"),
  suffix: ({part}) => part ? ` (${part} alone)` : "",
}, "Average power over the timed steps, idle draw included, times the time of an epoch. Where only a part is known it is named." +
   epochsNote(data));

const memorySection = (data) => barFigure(data, {
  label: "Peak memory", key: "memory", unitOf: bytesUnit, tick: "planned", certain: true, marks: BYTE_TICKS, base: "memory",
}, "Growth of resident memory on a CPU, the driver's count on a GPU. Vertical line: what was planned.");
