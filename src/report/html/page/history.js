// The page's history: one workload over many dated files, with the changes of its level.
"use strict";

const dayOf = (point) => format.day(point.date);
const commitOf = (point) => point.git_sha ? commitText(point) : "commit not known";
const changeSize = ({ratio}) => `${ratio >= 1 ? "+" : "−"}${significant(Math.abs(ratio - 1) * 100, 2)} %`;
const changeBegin = ({kind}, place) => `${kind === "creep" ? "creeping from" : "from"} ${place}`;

// The levels between the changes; a creep has a slope instead of a level.
function levelLines({points, changes}, place) {
  const levels = changes.map((change, at) => [at ? changes[at - 1].end.index : 0, change.last_before.index, change.before]);
  const last = changes[changes.length - 1];
  if (last) levels.push([last.end.index, points.length - 1, last.after]);
  return levels.map(([from, to, level]) =>
    ({classes: "law", dots: false, points: [from, to].map((x) => ({x, y: place(level)}))}));
}

const valueText = (series, value) => series.of === "ratio" ? `${ratioText(value)} of the reference` : format.seconds(value);

// How a value of the series is drawn: seconds in the unit that reads best, a ratio as the percent above its reference.
function historyAxis({of, points}) {
  if (of === "ratio") return [asPercent, "slower than the reference by, %"];
  const [factor, unit] = secondsUnit(d3.median(points, (point) => point.value));
  return [(value) => scaled(value, factor), `median step, ${unit}`];
}

function historyPanel(series) {
  const {points, changes} = series, [place, label] = historyAxis(series);
  const marks = changes.map((change) => ({x: change.begin.index, text: `${changeSize(change)}, ` +
    changeBegin(change, shortSha(change.begin) || dayOf(change.begin))}));
  const line = {classes: "ink-0 on-cpu", points: points.map((point, x) => ({x, y: place(point.value),
    hint: `${point.date}, ${commitOf(point)}, ${point.file}: ${valueText(series, point.value)}, ` +
      plural(point.processes, "process", "processes")}))};
  const day = (x) => Number.isInteger(x) && points[x] ? dayOf(points[x]).slice(5) : "";
  const chart = {label: `History of ${series.name}: ${plural(points.length, "date")}, ${plural(changes.length, "change")}`,
                 lines: [...levelLines(series, place), line], marks,
                 x: {label: "files by date", text: day}, y: {label}};
  return curvesPanel(series.name, chart,
    element("p", {class: "muted"}, series.setting + (series.reason ? `. Changes: ${series.reason}.` : "")));
}

function historySection(data) {
  if (!data.history.length) return null;
  const rows = () => data.history.flatMap((series) => series.points.map((point) => [`${series.name}, ${point.date}`,
    commitOf(point), point.file, valueText(series, point.value), String(point.processes)]));
  const changes = data.history.flatMap((series) => series.changes.map((change) => element("li", {},
    `${series.name}: a step takes ${changeSize(change)}, ` +
    changeBegin(change, `${commitOf(change.begin)} of ${dayOf(change.begin)} on`))));
  return figure("The median step of each dated result on one machine; of two interleaved binaries their ratio. Dashed lines: " +
    "where the level changed permanently (E-divisive means with a t-test). Advisory: it finds what deserves a look and proves " +
    "nothing. Results measured beside other processes are left out.",
    panels(data.history, historyPanel, {what: "workloads"}),
    changes.length ? element("ul", {class: "sentences"}, changes)
      : element("p", {}, "No change of level was found where one was looked for."),
    moreText(data.history_left_out, "workload", "epochbench compare --history looks at too"),
    numbersBelow("History", ["point", "commit", "file", "median step, or ratio", "processes"], rows));
}
