// The section of sweeps: rate against size, with what the analysis says of the curves.
"use strict";

// "cpu fp32": a curve's name among others of the same work.
function shortName({curves}, name) {
  const curve = curves.find((one) => one.name === name);
  return curve ? curveLabel(curve) : name || "";
}

const curveLabel = (curve) => `${curve.device.replace(/:0$/, "")} ${curve.precision}`;

function curveLine(curve, best) {
  const backend = curve.device.split(":")[0];
  const points = curve.points.map((point) => ({
    x: point.value, y: point.rate, ends: point.ci95, ring: best !== undefined && best.value === point.value,
    hint: `${curve.name}, ${point.value}: ${point.text}${point.loaded ? " †" : ""}`}));
  return {label: curveLabel(curve) + (curve.points.some((point) => point.loaded) ? " †" : ""), points, symbol: symbolOf(backend),
          classes: looks(curve.precision, backend === "cuda", backend)};
}

// N cores reach a N / (1 + sigma (N - 1) + kappa N (N - 1)), as in src/analysis/sweep/scaling.h; up to the most cores measured.
function lawLines(scaling) {
  const cores = d3.range(0, 41).map((step) => scaling.most_cores_measured ** (step / 40));
  return scaling.fits.map((fit) => ({label: "fitted laws, see below", classes: "law", dots: false, points: cores.map((n) =>
    ({x: n, y: fit.one_core_rate * n / (1 + fit.sigma * (n - 1) + fit.kappa * n * (n - 1))}))}));
}

// Vertical lines with text, and bands for their intervals.
function curveMarks(sweep) {
  const {flattens_at: flattenings, crossover} = sweep.answers, marks = [], bands = [];
  for (const flat of flattenings) {
    const [low, high] = flat.range || [0, 0], text = `${shortName(sweep, flat.curve)} flat from ${format.count(flat.value)}`;
    if (isKnown(flat.value)) marks.push({x: flat.value, text});
    if (low !== high) bands.push({from: low, to: high, text: `${flat.curve}: flat from somewhere here, at 95 %`});
  }
  for (const crossing of crossover || []) {
    const better = `${shortName(sweep, crossing.better_above)} ${crossing.in === "time" ? "faster" : "cheaper"}`;
    marks.push({x: crossing.value, text: `above ${significant(crossing.value)} ${better}`});
    if (crossing.ci95) bands.push({from: crossing.ci95[0], to: crossing.ci95[1], text: "they cross somewhere here, at 95 %"});
  }
  return {marks, bands};
}

function sweepPanel(sweep) {
  const bestOf = (curve) => sweep.answers.best.find((best) => best.curve === curve.name);
  const lines = distinct(sweep.curves.map((curve) => curveLine(curve, bestOf(curve))));
  const laws = sweep.answers.scaling.flatMap(lawLines);
  const missing = sweep.curves.flatMap((curve) => curve.points.filter((point) => point.status)
    .map((point) => ({x: point.value, text: `${curve.name}, ${point.value}: ${point.status}`})));
  const values = [...new Set(sweep.curves.flatMap((curve) => curve.points.map((point) => point.value)))].sort(d3.ascending);
  const chart = {label: `${sweep.title}. ${sweep.sentences.join("; ")}`, lines: [...laws, ...lines], missing, height: 320,
                 x: {log: true, label: sweep.x, text: format.count,
                     ticks: values.length <= 10 ? values : null},
                 y: {log: true, label: sweep.y}, ...curveMarks(sweep)};
  return curvesPanel(sweep.title, chart, legend([...lines, ...laws.slice(0, 1)]));
}

// " (cpu-box.json)", if there are other files.
const fileText = (sweep, data) => data.files.length > 1 ? ` (${sweep.file})` : "";

// All sweeps of one file and axis hold the same number, so it counts once.
function curvesLeftOut(sweeps) {
  return d3.sum([...new Map(sweeps.map((sweep) => [`${sweep.answers.over} ${sweep.file}`, sweep.curves_left_out])).values()]);
}

function sweepsSection(data) {
  if (!data.sweeps.length) return null;
  const sentences = new Set(data.sweeps.flatMap((sweep) =>
    sweep.sentences.map((sentence) => sentence + fileText(sweep, data))));
  return figure("Both axes logarithmic. Whiskers: 95 % interval over repetitions. Ring: the best value of a curve. Dashed: " +
    "where a curve gets flat (within 5 % of its best) and where two cross; shaded, where these may lie at 95 %. A cross at " +
    "the bottom is a point that failed, or whose rate is 0.",
    loadBanner(data.tables.points),
    panels(data.sweeps, sweepPanel, {what: "sweeps"}),
    moreText(curvesLeftOut(data.sweeps), "curve", "the result files have"),
    element("ul", {class: "sentences"}, [...sentences].map((sentence) => element("li", {}, sentence))),
    numbersBelow(data.tables.points));
}
