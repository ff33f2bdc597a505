// The sections of what happened step by step: losses, step times, and where the time of one step goes.
"use strict";

// What a caption says where series were downsampled (downsample() in src/base/statistics.h).
function downsampledText(series) {
  const [low, high] = d3.extent(series.filter((one) => one.every > 1), (one) => one.every);
  if (low === undefined) return "";
  const every = low === high ? low : `${low} to ${high}`;
  return ` Of long series the minimum and the maximum of every ${every} in a row are drawn; the result file has all.`;
}

const placesOf = (series, values) => series.at || d3.range(values.length);

function lossLine(data, loss, xs) {
  const row = data.rows[loss.row];
  return {label: rowLabel(row) + (data.files.length > 1 ? ` (${fileOf(data, row).file})` : ""), dots: loss.n <= 30,
          classes: looks(row.precision, row.on_gpu, row.backend), symbol: symbolOf(row.backend), size: 30,
          points: loss.loss.map((y, at) => ({x: xs[at], y}))};
}

// Of many lines the first: a longer legend says nothing more.
function shortLegend(lines) {
  const rest = lines.length > 12 ? [{label: `and ${lines.length - 12} more`, line: false}] : [];
  return legend([...lines.slice(0, 12).map((line) => ({...line, symbol: null})), ...rest]);
}

function lossCharts(data, workload, all) {
  const losses = all.slice(0, MOST_BARS);
  const chart = (title, x, lines) =>
    curvesPanel(title, {label: `Loss of ${workload} ${title}`, height: 230, lines, x, y: {label: "training loss"}});
  const bySteps = losses.map((loss) => lossLine(data, loss, placesOf(loss, loss.loss)));
  const timed = losses.filter(({loss, seconds}) => seconds && seconds.some((end, at) => isKnown(end) && isKnown(loss[at])));
  const ends = timed.map((loss) => d3.max(loss.seconds)), log = d3.max(ends) > FAR_APART * d3.min(ends);
  const [factor, unit] = log ? [1, "s"] : secondsUnit(d3.max(ends) || 1), time = {label: `time of training, ${unit}`, log};
  const byTime = timed.map((loss) => lossLine(data, loss, loss.seconds.map((end) => scaled(end, factor))));
  return element("div", {}, element("h3", {}, workload), shortLegend(bySteps), element("div", {class: "grid"},
    chart("over steps", {label: "step, warm-up first"}, bySteps),
    timed.length ? chart("over time", time, byTime)
      : element("p", {class: "muted"}, "Over time: not known, as these losses are not those of the timed steps.")),
    restText(all.length, "runs"));
}

function lossSection(data) {
  const latestRows = new Set(latest(data.rows, data)), losses = data.losses.filter(({row}) => latestRows.has(data.rows[row]));
  if (!losses.length) return null;
  const rows = () => losses.map(({row, n, loss, first, last}) => [rowName(data, data.rows[row]), format.count(n),
    significant(first), significant(d3.min(loss)), significant(last)]);
  return figure("Loss of each training step, of the first repetition of a run. Runs of one workload begin with the same " +
    "weights and see the same batches. Time counts from the first timed step: warm-up steps train too, but are not timed." +
    downsampledText(losses),
    panels(groupBy(losses, (loss) => data.rows[loss.row].workload),
           ([workload, own]) => lossCharts(data, workload, own), {wide: true, first: 4, what: "workloads"}),
    numbersBelow("Losses", ["run", "steps", "first", "minimum", "last"], rows));
}

const levelOf = (one) => isKnown(one.median) ? one.median : d3.median(one.seconds);

// The chart of a run's repetitions, one after the other.
function stepsChart(row, repetitions) {
  const [factor, unit] = secondsUnit(d3.median(repetitions, levelOf)), lines = [], bands = [];
  let begin = 0;
  for (const one of repetitions) {
    const at = placesOf(one, one.seconds), first = begin, last = begin + one.n - 1;
    const points = one.seconds.map((seconds, index) => ({x: first + at[index], y: scaled(seconds, factor),
      hint: `#${one.repetition}, step ${at[index]}: ${format.seconds(seconds)}`}));
    lines.push({classes: `thin ${looks(row.precision, false, row.backend)}`, points, size: 20, dots: points.length <= 150});
    lines.push({classes: "law", dots: false, points: [first, last].map((x) => ({x, y: scaled(one.median, factor)}))});
    if (one.within_run)
      bands.push({left: first, right: last, low: one.within_run[0] * factor, high: one.within_run[1] * factor,
                  text: `#${one.repetition}: median ${format.seconds(one.median)}`});
    for (const [from, to] of one.throttled)
      bands.push({from: first + from - 0.5, to: first + to + 0.5, text: "the GPU was throttled"});
    begin += one.n + Math.ceil(one.n * 0.03);
  }
  const medians = repetitions.map((one) => `#${one.repetition}: median ${format.seconds(one.median)} of ${one.n}`);
  return {label: `Step times of ${row.name}. ${medians.join("; ")}`, lines, bands, height: 320,
          x: {label: repetitions.length > 1 ? "step, one repetition after the other" : "step"},
          y: {label: `time of a step, ${unit}`}};
}

function stepRows(data) {
  return data.steps.map((one) => [`${rowName(data, data.rows[one.row])} #${one.repetition}`, format.count(one.n),
    format.count(one.warmup), format.seconds(d3.min(one.seconds)), format.seconds(one.median),
    format.interval(one.within_run, format.seconds) || UNKNOWN, format.seconds(d3.max(one.seconds)),
    one.throttled.length ? plural(one.throttled.length, "stretch", "stretches") : "none known"]);
}

function stepsSection(data) {
  if (!data.steps.length) return null;
  const runs = groupBy(data.steps, (one) => one.row), nameOf = ([row]) => rowName(data, data.rows[row]);
  const [choice, place] = choiceOf("Run ", runs.map(nameOf), element("div", {class: "grid wide"}),
    (index) => curvesPanel(nameOf(runs[index]), stepsChart(data.rows[runs[index][0]], runs[index][1])));
  return figure("Every timed step as it was measured, in order; repetitions, each a process of its own, follow each other. " +
    "Dashed line: the median, with how far it may be off within that run. Single spikes are interruptions; a slope at the " +
    "beginning is warm-up that lasted longer than the untimed steps; a rise that stays is another load or a lower clock. " +
    "Shaded over the whole height: the GPU was throttled. The axis of time does not begin at 0." + downsampledText(data.steps),
    choice, place,
    numbersBelow("Steps", ["run", "steps", "warm-up before", "minimum", "median", "within this run", "maximum", "throttled"],
                 () => stepRows(data)));
}

function profilePanel(data, profile) {
  const row = data.rows[profile.row], [factor, unit] = secondsUnit(profile.classes[0].seconds);
  const bars = profile.classes.map((one) => ({
    label: `${one.op} ×${one.nodes}`, value: one.seconds, tick: one.limit_seconds, hatched: row.on_gpu,
    classes: looks(row.precision, row.on_gpu, row.backend), text: format.percent(one.share) +
      (isKnown(one.limit_fraction) ? `, ${format.percent(one.limit_fraction)} of limit` : "")}));
  const axis = {factor, unit: `time in one step, ${unit}`, label: `Profile of ${row.name}`};
  return barsPanel(rowName(data, row), bars, axis);
}

function profilesSection(data) {
  if (!data.profiles.length) return null;
  const rows = () => data.profiles.flatMap((profile) => profile.classes.map((one) =>
    [`${rowName(data, data.rows[profile.row])}: ${one.op}`, format.count(one.nodes), format.seconds(one.seconds),
     format.percent(one.share), format.percent(one.limit_fraction), format.si(one.flops_per_second, "FLOP/s"),
     format.si(one.bytes_per_second, "B/s")]));
  return figure("Where the time of one step goes, by operation, timed node by node in passes of their own, apart from the " +
    "timed steps. Vertical line: the least time that the machine's measured peak or bandwidth allows. Right of a bar: its " +
    "share of the step, and how much of that limit it reaches, which caches may lift above 100 %.",
    panels(data.profiles, (profile) => profilePanel(data, profile), {first: 6, what: "profiles"}),
    moreText(data.profiles_left_out, "profile", "the result files have"),
    numbersBelow("Profiles", ["operation", "nodes", "time", "share", "of the limit", "FLOP/s", "bytes/s"], rows));
}
