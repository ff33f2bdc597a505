// The sections on single steps: losses, step times, and where the time of one step goes.
"use strict";

// The text of a caption if series were downsampled (downsample() in src/base/statistics.h).
function downsampledText(series) {
  const [low, high] = d3.extent(series.filter((one) => one.every > 1), (one) => one.every);
  if (low === undefined) return "";
  const every = low === high ? low : `${low} to ${high}`;
  return ` For long series the minimum and the maximum of every ${every} in a row are drawn; the result file has all.`;
}

const placesOf = (series, values) => series.at || d3.range(values.length);

function lossLine(data, loss, xs) {
  const row = data.rows[loss.row];
  return {label: rowLabel(row) + (data.files.length > 1 ? ` (${fileOf(data, row).file})` : ""), dots: loss.n <= 30,
          classes: looks(row.precision, row.on_gpu, row.backend), symbol: symbolOf(row.backend), size: 30,
          points: loss.loss.map((y, at) => ({x: xs[at], y}))};
}

const hasTimes = ({loss, seconds}) => seconds && seconds.some((end, at) => isKnown(end) && isKnown(loss[at]));

// One chart per workload; over steps, or over the time of training.
function lossPanel(data, workload, all, overTime) {
  const losses = all.slice(0, MOST_BARS).filter((loss) => !overTime || hasTimes(loss));
  const ends = losses.map((loss) => d3.max(loss.seconds || [])), log = overTime && d3.max(ends) > FAR_APART * d3.min(ends);
  const [factor, unit] = log || !overTime ? [1, "s"] : secondsUnit(d3.max(ends) || 1);
  const lines = distinct(losses.map((loss) =>
    lossLine(data, loss, overTime ? loss.seconds.map((end) => scaled(end, factor)) : placesOf(loss, loss.loss))));
  const x = overTime ? {label: `time of training, ${unit}`, log} : {label: "step, warm-up first"};
  const chart = {label: `Loss of ${workload}`, height: 220, x, y: {label: "training loss"},
                 lines: lines.map((line) => ({...line, classes: `thin ${line.classes}`}))};
  const title = workload + (all.length > MOST_BARS ? `, the first ${MOST_BARS} of ${all.length} runs` : "");
  return curvesPanel(title, chart,
                     lines.length ? shortLegend(lines) : element("p", {class: "muted"}, "Not known over time."));
}

// Only the first of many lines: a longer legend would not help.
function shortLegend(lines) {
  const rest = lines.length > 8 ? [{label: `and ${lines.length - 8} more`, line: false}] : [];
  return legend([...lines.slice(0, 8).map((line) => ({...line, symbol: null})), ...rest]);
}

function lossSection(data) {
  const latestRows = new Set(latest(data.rows, data)), losses = data.losses.filter(({row}) => latestRows.has(data.rows[row]));
  if (!losses.length) return null;
  const groups = groupBy(losses, (loss) => data.rows[loss.row].workload);
  const [choice, place] = choiceOf("Over ", ["steps", "time"].slice(0, losses.some(hasTimes) ? 2 : 1), element("div"),
    (over) => panels(groups, ([workload, own]) => lossPanel(data, workload, own, over === 1), {first: 6, what: "workloads"}));
  return figure("Training loss of the first repetition of each run on real data, or of at least 200 synthetic steps. Runs of " +
    "one workload begin with the same weights and see the same batches; time counts from the first timed step." +
    downsampledText(losses),
    choice, place,
    numbersBelow(data.tables.losses));
}

const levelOf = (one) => isKnown(one.median) ? one.median : d3.median(one.seconds);

// The chart of a run's repetitions, one after the other.
function stepsChart(row, repetitions) {
  const [factor, unit] = secondsUnit(d3.median(repetitions, levelOf)), lines = [], bands = [];
  let begin = 0;
  for (const one of repetitions) {
    const at = placesOf(one, one.seconds), first = begin, last = begin + one.n - 1;
    const points = one.seconds.map((seconds, index) => ({x: first + at[index], y: scaled(seconds, factor),
      hint: `#${one.repetition}, step ${at[index]}: ${inUnit(seconds, [factor, unit])}`}));
    lines.push({classes: `thin ${looks(row.precision, false, row.backend)}`, points, size: 20, dots: points.length <= 150});
    lines.push({classes: "law", dots: false, points: [first, last].map((x) => ({x, y: scaled(one.median, factor)}))});
    if (one.within_run)
      bands.push({left: first, right: last, low: one.within_run[0] * factor, high: one.within_run[1] * factor,
                  text: `#${one.repetition}: ${one.text}, spread within this run`});
    for (const [from, to] of one.throttled)
      bands.push({from: first + from - 0.5, to: first + to + 0.5, text: "the GPU was throttled"});
    begin += one.n + Math.ceil(one.n * 0.03);
  }
  const medians = repetitions.map((one) => `#${one.repetition}: ${one.text} of ${one.taken}`);
  return {label: `Step times of ${row.name}. ${medians.join("; ")}`, lines, bands, height: 250,
          x: {label: repetitions.length > 1 ? "step, one repetition after the other" : "step"},
          y: {label: `time of a step, ${unit}`}};
}

function stepsSection(data) {
  if (!data.steps.length) return null;
  const runs = groupBy(data.steps, (one) => one.row), nameOf = ([row]) => rowName(data, data.rows[row]);
  const [choice, place] = choiceOf("Run ", runs.map(nameOf), element("div", {class: "grid wide"}),
    (index) => curvesPanel(nameOf(runs[index]), stepsChart(data.rows[runs[index][0]], runs[index][1])));
  return figure("Every timed step in order, one repetition after the other. Dashed: the median; its shade, from ten steps on: " +
    "how well it is known within this run, which says nothing of the next one. Shaded over the whole height: the GPU was " +
    "throttled. The axis of time does not begin at 0." + downsampledText(data.steps),
    choice, place,
    numbersBelow(data.tables.steps));
}

function profilePanel(data, profile) {
  const row = data.rows[profile.row], [factor, unit] = secondsUnit(profile.classes[0].seconds);
  const bars = profile.classes.map((one) => ({
    label: one.title, value: one.seconds, tick: one.limit_seconds, hatched: row.on_gpu, text: one.text,
    classes: looks(row.precision, row.on_gpu, row.backend)}));
  const axis = {factor, unit: `time in one step, ${unit}`, label: `Profile of ${row.name}`};
  return barsPanel(rowName(data, row), bars, axis);
}

function profilesSection(data) {
  if (!data.profiles.length) return null;
  return figure("Time of one step by operation, timed in passes of their own. Vertical line: the least that the machine's " +
    "measured peak or bandwidth allows. Right of a bar: its share of the step, and how much of that limit it reaches.",
    panels(data.profiles, (profile) => profilePanel(data, profile), {first: 6, what: "profiles"}),
    moreText(data.profiles_left_out, "profile", "the result files have"),
    numbersBelow(data.tables.profiles));
}
