// The section of sweeps: rate against size, with what the analysis says of the curves.
"use strict";

const AXIS_LABELS = {batch: "batch", width: "neurons per layer", samples: "samples of the data set", threads: "threads",
                     ranks: "ranks", ranks_weak: "ranks, each with as many samples"};
const MEASURES = {samples_per_second: "samples/s", flops_per_second: "FLOP/s",
                  samples_per_wall_second: "samples/s, all of a process's time"};

// "cpu fp32": a curve's name among others of the same work.
function shortName({curves}, name) {
  const curve = curves.find((one) => one.name === name);
  return curve ? curveLabel(curve) : name || "";
}

const curveLabel = (curve) => `${curve.device.replace(/:0$/, "")} ${curve.precision}`;
const inWords = (status) => status.replaceAll("_", " ");

function curveLine(curve, best) {
  const backend = curve.device.split(":")[0];
  const points = curve.points.map((point) => ({
    x: point.value, y: point.rate, ends: point.ci95, ring: best !== undefined && best.value === point.value,
    hint: `${curve.name}, ${point.value}: ${format.rate(point.rate)}${point.loaded ? " †" : ""}`}));
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

function sweepPanel(sweep, data) {
  const bestOf = (curve) => sweep.answers.best.find((best) => best.curve === curve.name);
  const lines = distinct(sweep.curves.map((curve) => curveLine(curve, bestOf(curve))));
  const laws = sweep.answers.scaling.flatMap(lawLines);
  const missing = sweep.curves.flatMap((curve) => curve.points.filter((point) => point.status)
    .map((point) => ({x: point.value, text: `${curve.name}, ${point.value}: ${inWords(point.status)}`})));
  const values = [...new Set(sweep.curves.flatMap((curve) => curve.points.map((point) => point.value)))].sort(d3.ascending);
  const {over, measure} = sweep.answers, title = `${sweep.work} over ${AXIS_LABELS[over]}${fileText(sweep, data)}`;
  const chart = {label: `${title}. ${sweep.sentences.join("; ")}`, lines: [...laws, ...lines], missing, height: 320,
                 x: {log: true, label: AXIS_LABELS[over], text: format.count,
                     ticks: values.length <= 10 ? values : null},
                 y: {log: true, label: MEASURES[measure]}, ...curveMarks(sweep)};
  return curvesPanel(title, chart, legend([...lines, ...laws.slice(0, 1)]));
}

// " (cpu-box.json)", if there are other files.
const fileText = (sweep, data) => data.files.length > 1 ? ` (${sweep.file})` : "";

function pointRows(data) {
  return data.sweeps.flatMap((sweep) => sweep.curves.flatMap((curve) => curve.points.map((point) =>
    [`${curve.name}, ${AXIS_LABELS[sweep.answers.over]} ${point.value}${fileText(sweep, data)}${point.loaded ? " †" : ""}`,
     point.status ? inWords(point.status) : format.rate(point.rate),
     format.spread(point.ci95, point.range, format.rate) || UNKNOWN, format.money(point.cost), String(point.repetitions)])));
}

// All sweeps of one file and axis hold the same number, so it counts once.
function curvesLeftOut(sweeps) {
  return d3.sum([...new Map(sweeps.map((sweep) => [`${sweep.answers.over} ${sweep.file}`, sweep.curves_left_out])).values()]);
}

function sweepsSection(data) {
  if (!data.sweeps.length) return null;
  const sentences = new Set(data.sweeps.flatMap((sweep) =>
    sweep.sentences.map((sentence) => sentence + fileText(sweep, data))));
  const points = data.sweeps.flatMap((sweep) => sweep.curves.flatMap((curve) => curve.points));
  return figure("Both axes logarithmic. Whiskers: 95 % interval over repetitions. Ring: the best value of a curve. Dashed: " +
    "where a curve gets flat (within 5 % of its best) and where two cross; shaded, where these may lie at 95 %. A cross at " +
    "the bottom is a point that failed, or whose rate is 0.",
    loadBanner(points),
    panels(data.sweeps, (sweep) => sweepPanel(sweep, data), {what: "sweeps"}),
    moreText(curvesLeftOut(data.sweeps), "curve", "the result files have"),
    element("ul", {class: "sentences"}, [...sentences].map((sentence) => element("li", {}, sentence))),
    numbersBelow("Points of the sweeps", ["point", "rate", "95 % interval, or range", "cost", "repetitions"], () => pointRows(data)));
}
