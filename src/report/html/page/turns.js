// The page's section on binaries that took turns: each pair's ratio beside the interval and the threshold, and the verdict.
"use strict";

const FINDINGS = {regression: "✗ regression", improvement: "▲ improvement", no_change: "✓ no change",
                  inconclusive: "? inconclusive", not_compared: "– not compared"};
const findingMark = (finding) => colored(finding, FINDINGS[finding]);

const asPercent = (ratio) => isKnown(ratio) ? (ratio - 1) * 100 : null;
const ratioText = (ratio) => significant(ratio, 4);

function turnsPanel(one, threshold) {
  const last = one.pairs.length, ends = one.ratio_ci95, color = looks(one.precision, false, "cpu");
  const level = (ratio, classes = "law") =>
    ({classes, dots: false, points: [1, last].map((x) => ({x, y: asPercent(ratio)}))});
  const points = one.pairs.map(({ratio, foreign_cpu_cores: others}, at) => ({x: at + 1, y: asPercent(ratio),
    hint: `pair ${at + 1}: ${ratioText(ratio)}; others took ${format.cores(others)}`}));
  const bands = ends ? [{left: 1, right: last, low: asPercent(ends[0]), high: asPercent(ends[1]),
                         text: `95 % interval of the ratio: ${format.interval(ends, ratioText)}`}] : [];
  const chart = {label: `${one.name}: ${FINDINGS[one.verdict]}, ratio ${ratioText(one.ratio)} of ${plural(last, "pair")}`, bands,
                 lines: [...[1 / (1 + threshold), 1, 1 + threshold].map((ratio) => level(ratio)), level(one.ratio, color),
                         {classes: `scattered ${color}`, points}],
                 missing: one.pairs.flatMap(({ratio}, at) => isKnown(ratio) ? [] : [{x: at + 1, text: "not ok"}]),
                 x: {label: "pair of processes", text: (x) => Number.isInteger(x) ? String(x) : ""},
                 y: {label: "the new binary is slower by, %"}};
  return curvesPanel(one.name, chart, findingMark(one.verdict));
}

function turnsOf(data, turns) {
  const rows = () => turns.cases.flatMap((one) => one.pairs.map(({ratio, foreign_cpu_cores: others}, at) =>
    [`${one.name}, pair ${at + 1}`, ratioText(ratio), isKnown(others) ? significant(others, 2) : UNKNOWN]));
  return [
    element("p", {}, findingMark(turns.verdict), `: ${turns.reason}`),
    element("p", {class: "muted"}, [`${turns.file}, ${format.moment(turns.date)}`, `baseline ${turns.baseline || UNKNOWN}`,
      `new ${turns.new || UNKNOWN}`, turns.suite && `suite ${turns.suite}`, `threshold ${format.percent(turns.threshold)}`,
      data.machines.length > 1 && `machine ${machineName(turns.machine)}`].filter(Boolean).join(" · ")),
    panels(turns.cases.filter((one) => one.pairs.length), (one) => turnsPanel(one, turns.threshold), {what: "cases"}),
    numbersBelow("Pairs", ["pair", "new time over the baseline's", "cores that others took"], rows)];
}

function turnsTable(data) {
  const several = data.turns.length > 1;
  const number = (title, key, text) => numberColumn(title, ({one}) => one[key], text);
  const leftOut = ({changed, added, not_measured: others}) => [...changed, ...added, ...others];
  const cases = data.turns.flatMap((turns) => [
    ...turns.cases.map((one) => ({turns, one})),
    ...leftOut(turns).map((name) => ({turns, one: {name, notes: turns.reasons[name]}}))]);
  return element("div", {}, loadBanner(cases.map(({one}) => one)), sortableTable("Binaries that took turns", [
    nameColumn("case", ({one}) => one.name + (one.loaded ? " †" : "")),
    several ? {title: "file", value: ({turns}) => turns.file} : null,
    several ? {title: "date", value: ({turns}) => format.day(turns.date)} : null,
    {title: "verdict", value: ({one}) => one.verdict, text: (verdict) => FINDINGS[verdict],
     node: ({one}) => one.verdict ? findingMark(one.verdict) : "not compared"},
    cases.some(({one}) => one.notes) ? {title: "notes", value: ({one}) => one.notes, prose: true} : null,
    {...number("ratio", "ratio", ratioText), small: ({one}) => format.interval(one.ratio_ci95, ratioText)},
    numberColumn("pairs", ({one}) => one.pairs && one.pairs.length, format.count),
    number("baseline's step", "baseline_step_seconds", format.seconds),
    number("new step", "new_step_seconds", format.seconds),
    number("others' load", "foreign_cpu_cores", format.cores),
  ].filter(Boolean), cases));
}

function turnsSection(data) {
  if (!data.turns.length) return null;
  const newest = [...data.turns].sort((a, b) => compare(a.date, b.date, false));
  const [choice, place] = choiceOf("File ", newest.map(({file, date}) => `${file}, ${format.day(date)}`), element("div"),
                                   (index) => turnsOf(data, newest[index]));
  return figure("Two binaries took turns step by step, so that other jobs affect both alike. A dot is a pair of processes: the " +
    "median of the new binary's time over the baseline's. Line and shade: the estimate with its 95 % interval. Dashed: no " +
    "difference, and the threshold on either side.",
    newest.length > 1 ? choice : null, place, turnsTable(data));
}
