// The page's section on binaries that took turns: each pair's ratio beside the interval and the threshold, and the verdict.
"use strict";

const asPercent = (ratio) => isKnown(ratio) ? (ratio - 1) * 100 : null;

function turnsPanel(one, threshold) {
  const last = one.pairs.length, ends = one.ratio_ci95, color = looks(one.precision, false, "cpu");
  const level = (ratio, classes = "law") =>
    ({classes, dots: false, points: [1, last].map((x) => ({x, y: asPercent(ratio)}))});
  const points = one.pairs.map(({ratio, text}, at) => ({x: at + 1, y: asPercent(ratio), hint: `pair ${at + 1}: ${text}`}));
  const bands = ends ? [{left: 1, right: last, low: asPercent(ends[0]), high: asPercent(ends[1]),
                         text: `95 % interval of the ratio: ${one.interval}`}] : [];
  const chart = {label: `${one.name}: ${one.finding}, ratio ${one.ratio_text} of ${plural(last, "pair")}`, bands,
                 lines: [...[1 / (1 + threshold), 1, 1 + threshold].map((ratio) => level(ratio)), level(one.ratio, color),
                         {classes: `scattered ${color}`, points}],
                 missing: one.pairs.flatMap(({ratio}, at) => isKnown(ratio) ? [] : [{x: at + 1, text: "not ok"}]),
                 x: {label: "pair of processes", text: (x) => Number.isInteger(x) ? String(x) : ""},
                 y: {label: "the new binary is slower by, %"}};
  return curvesPanel(one.name, chart, colored(one.finding));
}

function turnsOf(data, index) {
  const turns = data.turns[index];
  return [
    element("p", {}, colored(turns.finding), `: ${turns.reason}`),
    element("p", {class: "muted"}, turns.about),
    panels(turns.cases.filter((one) => one.pairs.length), (one) => turnsPanel(one, turns.threshold), {what: "cases"}),
    numbersBelow(data.tables[`pairs of turns ${index}`])];
}

function turnsSection(data) {
  if (!data.turns.length) return null;
  const newest = d3.range(data.turns.length).sort((a, b) => compare(data.turns[a].date, data.turns[b].date, false));
  const [choice, place] = choiceOf("File ", newest.map((index) => data.turns[index].choice), element("div"),
                                   (at) => turnsOf(data, newest[at]));
  return figure("Two binaries took turns step by step, so that other jobs affect both alike. A dot is a pair of processes: the " +
    "median of the new binary's time over the baseline's. Line and shade: the estimate with its 95 % interval. Dashed: no " +
    "difference, and the threshold on either side.",
    newest.length > 1 ? choice : null, place, loadBanner(data.tables.turns), sortableTable(data.tables.turns));
}
