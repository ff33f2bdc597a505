// The page's series: rate against size, step times as measured, losses by step and by time, and profiles.
//
// Many runs have too many steps for a page, so each run is downsampled to its share of a fixed number.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "src/analysis/sweep/curves.h"
#include "src/base/lookup.h"
#include "src/base/statistics.h"
#include "src/base/text.h"
#include "src/report/html/page_parts.h"
#include "src/report/text/text_parts.h"
#include "src/result/result_json.h"

namespace epochbench {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kMinPoints = 3;  // fewer show no curve
// Per result and axis: every pair of curves is compared, and nobody reads the crossings of more curves.
constexpr std::size_t kMaxCurves = 50;

const char* axis_title(Axis axis) {
  constexpr const char* kTitles[] = {
      "batch", "neurons per layer", "samples of the data set", "threads", "ranks", "ranks, each with as many samples"};
  return kTitles[static_cast<std::size_t>(axis)];
}

const char* rate_title(Axis axis) {
  if (axis == Axis::width) return "FLOP/s";
  return axis == Axis::samples ? "samples/s, all of a process's time" : "samples/s";
}

Json page_point(const CurvePoint& point) {
  Json json = {{"value", point.value},
               {"rate", nullptr},
               {"ci95", nullptr},
               {"text", ""},
               {"loaded", any_disturbed(point.runs)},
               {"status", point.rates.empty() ? Json(spaced(name(point.runs.front()->status))) : Json(nullptr)}};
  if (point.rates.empty()) return json;
  const GroupEstimate rate = estimate_of_groups(point.rates);
  json["rate"] = finite_or_null(rate.value);
  json["ci95"] = page_interval(rate.ends(Spread::ci95));
  json["text"] = known_text(rate.value, format_rate);
  return json;
}

std::string or_unknown(const std::string& text) { return text.empty() ? kNotKnown : text; }

// `file`: " (cpu-box.json)", if there are other files.
void add_points(View& view, const Curve& curve, Axis axis, const std::string& file) {
  for (const CurvePoint& point : curve.points) {
    const std::string title = curve.name + ", " + axis_title(axis) + " " + std::to_string(point.value) + file;
    const auto rate = point.rates.empty() ? std::nullopt : std::optional(estimate_of_groups(point.rates));
    view.rows.push_back({title + load_mark(any_disturbed(point.runs)),
                         rate ? known_text(rate->value, format_rate) : spaced(name(point.runs.front()->status)),
                         or_unknown(ends_text(rate, format_rate)),
                         point.usd.empty() ? kNotKnown : format_usd(geometric_mean(point.usd)),
                         std::to_string(point.rates.size())});
  }
}

Json curve_json(const Curve& curve) {
  return {{"name", curve.name},
          {"device", curve.device},
          {"precision", name(curve.precision)},
          {"points", json_list(curve.points, page_point)}};
}

void add_axis(Json& sweeps, View& points, const NamedResult& named, Axis axis, bool several_files) {
  std::vector<Curve> curves = curves_of(named.result, axis);
  const std::size_t fewest = over_ranks(axis) ? 2 : kMinPoints;  // two numbers of ranks show what sharing costs
  std::erase_if(curves, [&](const Curve& curve) { return curve.points.size() < fewest; });
  const std::size_t all = curves.size();
  curves.resize(std::min(all, kMaxCurves));
  std::map<std::string, std::vector<Curve>> works;  // curves of different work are not compared
  for (const Curve& curve : curves) works[curve.work].push_back(curve);
  for (const auto& [work, members] : works) {
    const SweepAnswers answers = answers_of(members, named.result, axis);
    const std::string file = several_files ? " (" + named.path + ")" : "";
    for (const Curve& curve : members) add_points(points, curve, axis, file);
    sweeps.push_back({{"file", named.path},
                      {"title", work + " over " + axis_title(axis) + file},
                      {"x", axis_title(axis)},
                      {"y", rate_title(axis)},
                      {"work", work},
                      {"curves", json_list(members, curve_json)},
                      {"answers", json_of(answers)},
                      {"sentences", sweep_sentences(answers, axis, "")},
                      {"curves_left_out", all - curves.size()}});
  }
}

// For all runs of the page: 4 MB of step times, and 4 MB of losses with their times.
constexpr std::size_t kAllSteps = 400'000, kAllLosses = 150'000;
// Per run: more points than a chart has pixel columns are not visible, and fewer do not show the course.
constexpr std::size_t kMaxPerRun = 2'000, kMinPerRun = 20;
constexpr std::size_t kMaxProfiles = 100;
// Losses on synthetic data only show that a computation is right, and over fewer steps not even that.
constexpr std::size_t kMinSyntheticLosses = 200;

std::size_t share(std::size_t all, std::size_t runs) {
  const std::size_t of_each = std::clamp(all / std::max<std::size_t>(runs, 1), kMinPerRun, kMaxPerRun);
  return of_each - of_each % 2;
}

// null if all are kept.
Json places(const Downsampled& kept) { return kept.every == 1 ? Json(nullptr) : Json(kept.indices); }

Json picked(const std::vector<double>& values, const Downsampled& kept) {
  return json_list(kept.indices, [&](std::size_t index) { return values[index]; });
}

// `number`: index of the run in its row, whose runs may come from several files.
Json steps_json(const Run& run, std::size_t row, std::size_t number, std::size_t most) {
  const Timing& timing = *run.timing;
  const Downsampled kept = downsample(timing.step_seconds, most);
  const auto throttled = member_of(run.gpu, &GpuState::throttled_step_ranges);
  return {{"row", row},
          {"repetition", number},
          {"warmup", timing.warmup_steps},
          {"n", timing.step_seconds.size()},
          {"taken", timing.steps()},
          {"every", kept.every},
          {"at", places(kept)},
          {"seconds", picked(timing.step_seconds, kept)},
          {"median", timing.step_seconds_median},
          {"text", "median " + known_text(timing.step_seconds_median, format_seconds)},
          {"within_run", page_interval(spread_within_run(run))},  // ends of its median; no interval over runs
          {"throttled", throttled ? json_of(*throttled) : Json::array()}};
}

// For each loss the end of its step, counted from the beginning of the first timed step; NaN for warm-up steps, which are not
// timed. Empty if the losses are not those of warm-up and timed steps.
std::vector<double> times_of_losses(const Run& run) {
  const Timing& timing = *run.timing;
  const auto warmup = static_cast<std::size_t>(std::max(timing.warmup_steps, 0));
  const std::size_t kept = warmup + timing.step_seconds.size();
  const bool shortened = run.quality->loss_left_out && run.quality->loss.size() < kept;
  if (run.quality->loss.size() != kept && !shortened) return {};
  std::vector<double> times(warmup, std::numeric_limits<double>::quiet_NaN());
  double now = 0;
  for (const double seconds : timing.step_seconds) times.push_back(now += seconds);
  return times;
}

Json losses_json(const Run& run, std::size_t row, std::size_t most) {
  const std::vector<double>& losses = run.quality->loss;
  const Downsampled kept = downsample(losses, most);
  const std::vector<double> times = times_of_losses(run);
  return {
      {"row", row},         {"n", losses.size()},           {"every", kept.every},
      {"at", places(kept)}, {"loss", picked(losses, kept)}, {"seconds", times.empty() ? Json(nullptr) : picked(times, kept)}};
}

bool shows_losses(const Run& run) {
  const std::size_t fewest = run.workload.dataset == "synthetic" ? kMinSyntheticLosses : 2;
  return run.quality->loss.size() >= fewest;
}

std::string row_name(const Series& series, bool several_files) {
  return several_files ? series.name() + " (" + series.source->path + ")" : series.name();
}

std::vector<Cell> steps_row(const Run& run, const std::string& name) {
  const Timing& timing = *run.timing;
  const auto [min, max] = std::ranges::minmax(timing.step_seconds);
  const auto spread = spread_within_run(run);
  const auto throttled = member_of(run.gpu, &GpuState::throttled_step_ranges);
  return {name,
          format_count(timing.steps()),
          format_count(timing.warmup_steps),
          known_text(min, format_seconds),
          known_text(timing.step_seconds_median, format_seconds),
          spread ? range_text(*spread, format_seconds) : kNotKnown,
          known_text(max, format_seconds),
          throttled && !throttled->empty() ? counted(throttled->size(), "stretch", "stretches") : "none known"};
}

std::vector<Cell> losses_row(const Run& run, const std::string& name) {
  const std::vector<double>& losses = run.quality->loss;
  const std::optional<double> last = run.quality->loss_left_out ? run.quality->final_loss : losses.back();
  return {
      name, format_count(std::ssize(losses)), known_text(losses.front(), three_digits),
      known_text(std::ranges::min(losses, {}, [](double loss) { return std::isnan(loss) ? kInfinity : loss; }), three_digits),
      known_text(last.value_or(kInfinity), three_digits)};
}

// What a chart draws of an op.
Json class_json(const ProfileClass& ops) {
  std::string text = format_percent(ops.share);
  if (ops.limit_fraction) append(text, format_percent(*ops.limit_fraction) + " of limit");
  return {{"title", ops.op + " ×" + std::to_string(ops.nodes)},
          {"seconds", ops.seconds},
          {"limit_seconds", json_of(ops.limit_seconds)},
          {"text", text}};
}

std::vector<Cell> class_row(const ProfileClass& ops, const std::string& run) {
  const auto per_second = [](const std::optional<double>& value, const char* unit) {
    return value ? format_si(*value, unit) : kNotKnown;
  };
  return {run + ": " + ops.op,
          format_count(ops.nodes),
          format_seconds(ops.seconds),
          format_percent(ops.share),
          or_unknown(cell(ops.limit_fraction, format_percent)),
          per_second(ops.flops_per_second, "FLOP/s"),
          per_second(ops.bytes_per_second, "B/s")};
}

}  // namespace

void add_sweeps(Json& data, const std::vector<NamedResult>& results) {
  View points = {"Points of the sweeps", columns("point|>rate|95 % interval, or range|>cost|>repetitions")};
  data["sweeps"] = Json::array();
  for (const NamedResult& named : results)
    for (const Axis axis : kAxes) add_axis(data["sweeps"], points, named, axis, results.size() > 1);
  data["tables"]["points"] = page_table(points);
}

void add_steps(Json& data, const AllSeries& all, bool several_files) {
  View steps = {"Steps", columns("run|>steps|>warm-up before|>minimum|>median|>within this run|>maximum|throttled")};
  View losses = {"Losses", columns("run|>steps|>first|>minimum|>last")};
  data["steps"] = Json::array();
  data["losses"] = Json::array();
  std::size_t runs = 0;
  for (const Series& series : all.series) runs += series.runs.size();
  for (std::size_t row = 0; row < all.series.size(); ++row) {
    const Series& series = all.series[row];
    const std::string name = row_name(series, several_files);
    for (std::size_t number = 0; number < series.runs.size(); ++number) {
      const Run& run = *series.runs[number];
      if (!run.timing || run.timing->step_seconds.empty()) continue;
      data["steps"].push_back(steps_json(run, row, number, share(kAllSteps, runs)));
      steps.rows.push_back(steps_row(run, name + " #" + std::to_string(number)));
    }
    const Run& first = series.first();
    if (!first.timing || !first.quality || !shows_losses(first)) continue;
    data["losses"].push_back(losses_json(first, row, share(kAllLosses, all.series.size())));
    losses.rows.push_back(losses_row(first, name));
  }
  data["tables"]["steps"] = page_table(steps);
  data["tables"]["losses"] = page_table(losses);
}

void add_profiles(Json& data, const AllSeries& all, bool several_files) {
  View view = {"Profiles", columns("operation|>nodes|>time|>share|>of the limit|>FLOP/s|>bytes/s")};
  data["profiles"] = Json::array();
  std::size_t with_profile = 0;
  for (std::size_t row = 0; row < all.series.size(); ++row) {
    const auto& runs = all.series[row].runs;
    const auto found =
        std::find_if(runs.begin(), runs.end(), [](const Run* run) { return run->profile && !run->profile->classes.empty(); });
    if (found == runs.end() || ++with_profile > kMaxProfiles) continue;
    const std::vector<ProfileClass>& classes = (*found)->profile->classes;
    data["profiles"].push_back({{"row", row}, {"classes", json_list(classes, class_json)}});
    for (const ProfileClass& ops : classes) view.rows.push_back(class_row(ops, row_name(all.series[row], several_files)));
  }
  data["tables"]["profiles"] = page_table(view);
  data["profiles_left_out"] = with_profile - data["profiles"].size();
}

}  // namespace epochbench
