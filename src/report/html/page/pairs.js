// The section of speedup: ratios of two runs, as a chart and as a table with notes.
"use strict";

// "A: GPU bf16", with the letter of the machine if there are several.
const sideLabel = (side) => (side.machine ? `${side.machine}: ` : "") + rowLabel(side);

// "GPU bf16 over CPU fp32", "each at its best: GPU fp16 over CPU bf16"; with the files if they differ.
function pairLabel(pair) {
  const files = pair.contender_file === pair.baseline_file ? "" : ` (${pair.contender_file} over ${pair.baseline_file})`;
  return `${pair.each_at_best ? "each at its best: " : ""}${sideLabel(pair.contender_side)} over ${sideLabel(pair.baseline_side)}${files}`;
}

function ratioPanel(pairs) {
  const groups = groupBy(pairs, (pair) => pair.workload), alone = groups.length === pairs.length;
  const ordered = groups.flatMap(([, own]) => own);
  const bars = ordered.slice(0, MOST_BARS).map((pair) => ({
    label: (alone ? `${pair.workload}: ` : "") + pairLabel(pair) + (pair.doubts.length ? "\u00a0†" : ""),
    group: alone ? null : pair.workload, value: pair.ratio, ends: pair.ratio_ci95, text: pair.text,
    classes: looks(pair.contender_side.precision, pair.contender_side.on_gpu, pair.contender_side.backend),
    symbol: symbolOf(pair.contender_side.backend), hint: `${pair.contender} over ${pair.baseline}: ${pair.text}`}));
  const axis = {factor: 1, unit: "times the samples/s", log: true, line: 1, label: "Speedup"};
  return barsPanel(null, bars, axis, restText(pairs.length, "pairs"));
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

// One table per model.
const elsewhereSection = ({tables}) => Object.entries(tables).filter(([id]) => id.startsWith("elsewhere"))
  .flatMap(([, table]) => [sortableTable(table), numberedNotes(table)]);

function speedupSection(data) {
  if (!data.speedup) return null;
  const shown = ratiosOf(data).filter((pair) => data.head.lead !== "speedup" || !isAcross(pair));
  return [
    ratiosFigure(shown, RATIOS),
    loadBanner(data.tables.speedup), sortableTable(data.tables.speedup), numberedNotes(data.tables.speedup),
    moreText(data.speedup.more, "pair", "epochbench speedup shows")];
}
