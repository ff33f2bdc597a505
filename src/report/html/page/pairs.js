// The section of speedup: ratios of two runs, as a chart and as a table with notes.
"use strict";

// "GPU bf16 over CPU fp32", "each at its best: GPU fp16 over CPU bf16"; with the files if they differ.
function pairLabel(pair) {
  const files = pair.contender_file === pair.baseline_file ? "" : ` (${pair.contender_file} over ${pair.baseline_file})`;
  return `${pair.each_at_best ? "each at its best: " : ""}${rowLabel(pair.contender_side)} over ${rowLabel(pair.baseline_side)}${files}`;
}

function ratioPanel(pairs) {
  const groups = groupBy(pairs, (pair) => pair.workload), alone = groups.length === pairs.length;
  const ordered = groups.flatMap(([, own]) => own);
  const bars = ordered.slice(0, MOST_BARS).map((pair) => ({
    label: (alone ? `${pair.workload}: ` : "") + pairLabel(pair) + (pair.doubts.length ? "\u00a0†" : ""),
    group: alone ? null : pair.workload, value: pair.ratio, ends: pair.ratio_ci95, text: format.times(pair.ratio),
    classes: looks(pair.contender_side.precision, pair.contender_side.on_gpu, pair.contender_side.backend),
    symbol: symbolOf(pair.contender_side.backend), hint: `${pair.contender} over ${pair.baseline}: ${format.times(pair.ratio)}`}));
  const axis = {factor: 1, unit: "times the samples/s", log: true, line: 1, label: "Speedup"};
  return barsPanel(null, bars, axis, restText(pairs.length, "pairs"));
}

// Notes by number: most pairs share theirs.
function pairsTable(pairs) {
  const notes = new Map();
  const numberOf = (note) => notes.get(note) || notes.set(note, notes.size + 1).size;
  const notesOf = (pair) => [pair.ratio_ci95 ? null : `no interval: ${pair.ratio_reason}`, ...pair.warnings].filter(Boolean);
  const cells = new Map(pairs.map((pair) => [pair, notesOf(pair).map((note) => `[${numberOf(note)}]`).join(" ")]));
  const number = (title, key) => numberColumn(title, (pair) => pair[key], format.times);
  const table = sortableTable("Pairs of runs: how many times as fast, as cheap and as efficient the contender is", [
    nameColumn("contender", (pair) => pair.contender + (pair.doubts.length ? " †" : "")),
    {title: "baseline", value: (pair) => pair.baseline, node: (pair) => breakable(pair.baseline)},
    {...number("speedup", "ratio"), small: (pair) => format.interval(pair.ratio_ci95, format.times)},
    {...number("cost", "cost_ratio"), gray: (pair) => pair.doubts.length},
    {...number("energy", "energy_ratio"), gray: (pair) => pair.doubts.length},
    {title: "notes", value: (pair) => cells.get(pair) || null},
  ].filter((column) => pairs.some((pair) => isSomething(column.value(pair)))), pairs);
  const list = element("ol", {class: "notes"}, [...notes.keys()].map((note) => element("li", {}, note)));
  const below = element("details", {},
    element("summary", {}, "Notes: what to know of these pairs"), list);
  return element("div", {}, loadBanner(pairs), table, notes.size ? below : null);
}

const ratiosOf = (data) => data.speedup ? data.speedup.pairs.filter((pair) => isKnown(pair.ratio) && !pair.unusable) : [];
const isAcross = (pair) => pair.contender_side.on_gpu !== pair.baseline_side.on_gpu;

function ratiosFigure(pairs, caption) {
  return pairs.length ? figure(caption, inkLegend(pairs.map((pair) => pair.contender_side)), ratioPanel(pairs)) : null;
}

const RATIOS = "Samples per second of the contender over the baseline's: right of the line the contender is faster. " +
  "Whiskers: 95 % interval over repetitions.";

// The first screen's chart, if a GPU and a CPU were measured.
const acrossSection = (data) => ratiosFigure(ratiosOf(data).filter(isAcross), RATIOS);

function speedupSection(data) {
  if (!data.speedup) return null;
  const shown = ratiosOf(data).filter((pair) => data.head.lead !== "speedup" || !isAcross(pair));
  const rest = data.speedup.all_pairs - data.speedup.pairs.length;
  return [
    ratiosFigure(shown, RATIOS),
    pairsTable(data.speedup.pairs),
    moreText(rest, "pair", "epochbench speedup shows")];
}
