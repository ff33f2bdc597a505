// The sections of bars: throughput, epoch time, cost, energy and memory, one chart per workload; and ratios of two runs.
"use strict";

const MOST_BARS = 40;  // or lines, of one chart
const MOST_OPEN_NOTES = 12;
const FAR_APART = 30;  // times: on an axis that begins at 0 the smaller would not be seen

// "GPU bf16", "CPU fp32 threads=1", "CPU PyTorch fp32".
function rowLabel(row) {
  const device = row.on_gpu ? "GPU" : ["cpu", "pytorch"].includes(row.backend) ? "CPU" : row.backend;
  return [device, row.backend === "pytorch" ? "PyTorch" : null, row.precision, row.settings].filter(Boolean).join(" ");
}

// Of rows that differ in nothing but the file, the one of the latest date: the others are the history's.
function latest(rows, data) {
  const newest = new Map();
  for (const row of rows) {
    const key = [row.workload, row.settings, row.backend, row.precision, row.device, machineOf(data, row)].join("\n");
    const known = newest.get(key);
    if (!known || fileOf(data, known).date <= fileOf(data, row).date) newest.set(key, row);
  }
  return [...newest.values()];
}

function precisionLegend(shown) {
  return legend(precisions.filter((precision) => shown.includes(precision))
    .map((precision) => ({label: precision, classes: `p-${precision}`, line: false, symbol: "square"})));
}

// quantity: {label, key, text(row), unitOf(greatest)}; may have: ends, each, tick (keys), only(row), suffix(row).
function bar(row, quantity, label, unit) {
  const ends = quantity.ends ? row[quantity.ends] : null;
  const interval = ends ? `, 95 % interval ${intervalText(ends, unit)}` : "";
  return {label, value: row[quantity.key], ends, tick: quantity.tick ? row[quantity.tick] : null,
          each: quantity.each && row.repetitions > 1 ? row[quantity.each] : null, text: quantity.text(row),
          classes: looks(row.precision, row.on_gpu, row.backend), hatched: row.on_gpu,
          hint: `${row.name}, ${row.device}: ${quantity.text(row)}${interval}`};
}

const intervalText = (ends, [factor, unit]) => `${format.interval(ends, (value) => significant(value * factor))} ${unit}`;

function farApart(rows, quantity) {
  const [least, greatest] = d3.extent(rows, (row) => row[quantity.key]);
  return greatest / least > FAR_APART;
}

// null where all are drawn.
function restText(count, what) {
  if (count <= MOST_BARS) return null;
  return element("p", {class: "muted"}, `The first ${MOST_BARS} of ${format.count(count)} ${what}; the table has all.`);
}

// What the page has no room for; null where it has all.
function moreText(count, what, shownBy) {
  return count > 0 ? element("p", {}, `And ${plural(count, what)} more, which ${shownBy}.`) : null;
}

function barPanel(workload, rows, quantity, labelOf) {
  const shown = rows.slice(0, MOST_BARS), log = farApart(shown, quantity);
  const [factor, unit] = quantity.unitOf(d3.max(shown, (row) => row[quantity.key]));
  const bars = shown.map((row) => bar(row, quantity, labelOf(row), [factor, unit]));
  const axis = {factor, unit, log, label: `${quantity.label}, ${workload}`};
  return barsPanel(workload, bars, axis, restText(rows.length, "runs"));
}

// null where no row has the quantity.
function barFigure(data, quantity, caption) {
  const known = data.rows.filter((row) => row[quantity.key] > 0 && (!quantity.only || quantity.only(row)));
  const rows = latest(known, data);
  if (!rows.length) return null;
  const several = new Set(rows.map((row) => machineOf(data, row))).size > 1;
  const labelOf = (row) => (several ? `${machineName(machineOf(data, row))}: ` : "") + rowLabel(row) +
    (quantity.suffix ? quantity.suffix(row) : "");
  const groups = groupBy(rows, (row) => row.workload);
  const notes = [rows.some((row) => row.on_gpu) ? " Hatched, or a triangle: a GPU." : "",
                 rows.length < known.length ? " Of several dates the latest; the others are in the history." : "",
                 groups.some(([, own]) => farApart(own, quantity)) ? " Dots on a logarithmic axis: values lie far apart." : ""];
  const numbers = () => rows.map((row) => [rowName(data, row), quantity.text(row),
    quantity.ends && row[quantity.ends] ? intervalText(row[quantity.ends], quantity.unitOf(row[quantity.key])) : UNKNOWN]);
  return figure(caption + notes.join(""), precisionLegend(rows.map((row) => row.precision)),
    panels(groups, ([workload, own]) => barPanel(workload, own, quantity, labelOf), {what: "workloads"}),
    numbersBelow(quantity.label, ["run", quantity.label, "95 % interval"], numbers));
}

const throughputSection = (data) => barFigure(data, {
  label: "Samples per second", key: "samples_per_second", ends: "samples_per_second_ci95", each: "samples_per_second_each",
  text: (row) => `${format.rate(row.samples_per_second)}/s`,
  unitOf: (greatest) => greatest < 1e5 ? [1, "samples/s"] : [1e-3, "thousand samples/s"],
}, "Samples of the timed steps over their total time, waits for data included: the geometric mean of the repetitions. " +
   "Whiskers: its 95 % interval over repetitions. Circles: each of two to four repetitions, too few for an interval.");

const epochSection = (data) => barFigure(data, {
  label: "Time of an epoch", key: "epoch_seconds", ends: "epoch_seconds_ci95", unitOf: secondsUnit,
  text: (row) => format.seconds(row.epoch_seconds),
  suffix: (row) => row.epoch_kind === "projected" ? " (projected)" : "",
}, "The geometric mean of the repetitions, with its 95 % interval. Projected: from the measured steps, as no whole " +
   "epoch was run; of synthetic data, reading and decoding are left out.");

function costSection(data) {
  const sources = [...new Set(data.rows.map((row) => row.price_source).filter(Boolean))];
  return barFigure(data, {
    label: "Cost of an epoch", key: "cost_per_epoch", unitOf: () => [1, "USD"], only: (row) => row.currency === null,
    text: (row) => format.money(row.cost_per_epoch),
  }, "The price of an hour times the time of an epoch, without set-up and evaluation. " +
     `Source of the price: ${sources.slice(0, 6).join("; ") || UNKNOWN}.`);
}

const energySection = (data) => barFigure(data, {
  label: "Energy of an epoch", key: "joules_per_epoch", unitOf: (greatest) => siUnit(greatest, "J"),
  text: (row) => format.joules(row.joules_per_epoch), suffix: partText,
}, "Average power over the timed steps times the time of an epoch, idle draw included. The CPU's part is that of whole " +
   "packages. Where only a part is known it is named, and the total is higher.");

const memorySection = (data) => barFigure(data, {
  label: "Peak memory", key: "peak_bytes", unitOf: bytesUnit, tick: "planned_bytes",
  text: (row) => format.bytes(row.peak_bytes),
}, "What a run took at its peak: growth of resident memory on a CPU, the driver's count on a GPU. Vertical line: what was " +
   "planned before it ran.");

// "GPU bf16 over CPU fp32"; with the files where these are two.
function pairLabel(pair) {
  const files = pair.contender_file === pair.baseline_file ? "" : ` (${pair.contender_file} over ${pair.baseline_file})`;
  return `${rowLabel(pair.contender_side)} over ${rowLabel(pair.baseline_side)}${files}`;
}

function ratioPanel(workload, pairs) {
  const bars = pairs.slice(0, MOST_BARS).map((pair) => ({
    label: pairLabel(pair), value: pair.ratio, ends: pair.ratio_ci95, text: format.times(pair.ratio),
    classes: looks(pair.contender_side.precision, false), symbol: symbolOf(pair.contender_side.backend),
    hint: `${pair.contender} over ${pair.baseline}: ${format.times(pair.ratio)}`}));
  const axis = {factor: 1, unit: "times the samples/s", log: true, line: 1, label: `Speedup, ${workload}`};
  return barsPanel(workload, bars, axis, restText(pairs.length, "pairs"));
}

// Notes by number: most pairs share theirs.
function pairsTable(pairs) {
  const notes = new Map();
  const numberOf = (note) => notes.get(note) || notes.set(note, notes.size + 1).size;
  const notesOf = (pair) => [pair.ratio_ci95 ? null : `no interval: ${pair.ratio_reason}`, ...pair.warnings].filter(Boolean);
  const cells = new Map(pairs.map((pair) => [pair, notesOf(pair).map((note) => `[${numberOf(note)}]`).join(" ")]));
  const number = (title, key) => numberColumn(title, (pair) => pair[key], format.times);
  const table = sortableTable("Pairs of runs", [
    nameColumn("contender", (pair) => pair.contender),
    {title: "baseline", value: (pair) => pair.baseline, node: (pair) => breakable(pair.baseline)},
    number("speedup", "ratio"),
    intervalColumn((pair) => pair.ratio_ci95, format.times),
    number("cost", "cost_ratio"), number("energy", "energy_ratio"),
    {title: "notes", value: (pair) => cells.get(pair) || null},
  ], pairs);
  const list = element("ol", {class: "notes"}, [...notes.keys()].map((note) => element("li", {}, note)));
  const below = element("details", {open: notes.size <= MOST_OPEN_NOTES},
    element("summary", {}, "Notes: what to know of these pairs"), list);
  return element("div", {}, table, notes.size ? below : null);
}

function speedupSection(data) {
  if (!data.speedup) return null;
  const pairs = data.speedup.pairs.filter((pair) => isKnown(pair.ratio));
  const rest = data.speedup.all_pairs - data.speedup.pairs.length;
  const charts = [["CPU against GPU", true], ["On one kind of device", false]].map(([title, across]) => {
    const shown = pairs.filter((pair) => (pair.contender_side.on_gpu !== pair.baseline_side.on_gpu) === across);
    const own = groupBy(shown, (pair) => pair.workload);
    if (!own.length) return null;
    return element("div", {}, element("h3", {}, title),
      panels(own, ([workload, members]) => ratioPanel(workload, members), {what: "workloads"}));
  });
  return [
    figure("Samples per second of the contender over the baseline's, on a logarithmic axis: right of the line the contender " +
      "is faster. Whiskers: 95 % interval over repetitions. In the table, cost and energy: the baseline's over the " +
      "contender's per epoch, so above 1 the contender is better there too.",
      precisionLegend(pairs.map((pair) => pair.contender_side.precision)), charts),
    pairsTable(data.speedup.pairs),
    moreText(rest, "pair", "epochbench speedup shows")];
}
