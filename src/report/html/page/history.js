// The page's history: one workload over many dated files, with the changes of its level.
"use strict";

// The levels between the changes; a creep has a slope instead of a level.
function levelLines({points, changes}, place) {
  const levels = changes.map((change, at) => [at ? changes[at - 1].end.index : 0, change.last_before.index, change.before]);
  const last = changes[changes.length - 1];
  if (last) levels.push([last.end.index, points.length - 1, last.after]);
  return levels.map(([from, to, level]) =>
    ({classes: "law", dots: false, points: [from, to].map((x) => ({x, y: place(level)}))}));
}

// How a value of the series is drawn: seconds in the unit that reads best, a ratio as the percent above its reference.
function historyAxis({of, points}) {
  if (of === "ratio") return [asPercent, "slower than the reference by, %"];
  const [factor, unit] = secondsUnit(d3.median(points, (point) => point.value));
  return [(value) => scaled(value, factor), `median step, ${unit}`];
}

function historyPanel(series) {
  const {points, changes} = series, [place, label] = historyAxis(series);
  const marks = changes.map((change) => ({x: change.begin.index, text: change.mark}));
  const line = {classes: "ink-0 on-cpu", points: points.map((point, x) => ({x, y: place(point.value), hint: point.hint}))};
  const day = (x) => Number.isInteger(x) && points[x] ? points[x].day.slice(5) : "";
  const chart = {label: `History of ${series.name}: ${plural(points.length, "date")}, ${plural(changes.length, "change")}`,
                 lines: [...levelLines(series, place), line], marks,
                 x: {label: "files by date", text: day}, y: {label}};
  return curvesPanel(series.name, chart,
    element("p", {class: "muted"}, series.setting + (series.reason ? `. Changes: ${series.reason}.` : "")));
}

function historySection(data) {
  if (!data.history.length) return null;
  const changes = data.history.flatMap((series) => series.changes.map(({sentence}) => element("li", {}, sentence)));
  return figure("The median step of each dated result on one machine; of two interleaved binaries their ratio. Dashed lines: " +
    "where the level changed permanently (E-divisive means with a t-test). Advisory: it finds what deserves a look and proves " +
    "nothing. Results measured beside other processes are left out.",
    panels(data.history, historyPanel, {what: "workloads"}),
    changes.length ? element("ul", {class: "sentences"}, changes)
      : element("p", {}, "No change of level was found where one was looked for."),
    moreText(data.history_left_out, "workload", "epochbench compare --history looks at too"),
    numbersBelow(data.tables.history));
}
