#include "src/analysis/sweep/curves.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "src/analysis/case_settings.h"
#include "src/base/lookup.h"
#include "src/base/text.h"
#include "src/figures/estimate.h"
#include "src/figures/figure.h"

namespace epochbench {
namespace {

struct AxisRow {  // one per value of Axis, in their order
  const char* measure;
  const char* setting;  // that the axis varies; "": an option of the model
};
constexpr const Figure& kFlopRate = figure("flops_per_second");
constexpr AxisRow kRows[] = {
    {kThroughput.key, "batch"},   {kFlopRate.key, ""},        {"samples_per_wall_second", "epoch_samples"},
    {kThroughput.key, "threads"}, {kThroughput.key, "ranks"}, {kThroughput.key, "ranks"}};
const AxisRow& row_of(Axis axis) { return kRows[static_cast<std::size_t>(axis)]; }

bool positive(double value) { return std::isfinite(value) && value > 0; }

// Settings that only runs of several ranks have and that make another curve. How the ranks are started does not.
constexpr const char* kOfSeveralRanks[] = {"shard", "bucket", "communication_threads"};

std::int64_t ranks_of(const Run& run) {
  const auto* ranks = setting_as<std::int64_t>(run.settings, "ranks");
  return ranks ? *ranks : 1;
}

// All settings but the seed and the one that the axis varies: what a curve's runs share.
Settings settings_of_curve(const Run& run, Axis axis) {
  Settings settings = speed_settings(run);
  settings.erase(row_of(axis).setting);
  if (over_ranks(axis)) {
    settings.erase("oversubscribe");
    if (run.device.threads) settings["threads"] = std::int64_t{*run.device.threads};  // of a rank, even if it is the default
    if (axis == Axis::ranks_weak) settings["batch"] = run.workload.batch / ranks_of(run);
  }
  const auto options = axis == Axis::width ? settings.find("model_options") : settings.end();
  auto* values = options == settings.end() ? nullptr : std::get_if<ModelOptions>(&options->second);
  if (values) values->erase("width");
  return settings;
}

Curve empty_curve(const Run& run, Settings settings) {
  Curve curve;
  curve.name = label_of(settings);
  curve.model = model_text(settings);
  curve.device = device_text(settings);
  curve.precision = run.precision;
  curve.products = product_precision(run);
  settings.erase("device");
  settings.erase("precision");
  curve.work = label_of(settings);
  return curve;
}

std::optional<std::int64_t> value_of(const Run& run, Axis axis) {
  const Workload& workload = run.workload;
  switch (axis) {
    case Axis::batch:
      return workload.batch;
    case Axis::width: {
      const std::int64_t* width = find_value(workload.options, "width");
      return width ? std::optional(*width) : model_option(run, "width");
    }
    case Axis::samples:
      return workload.samples_per_epoch;
    case Axis::threads:
      return run.device.backend == BackendKind::cuda ? std::nullopt : std::optional<std::int64_t>(run.device.threads);
    case Axis::ranks:
    case Axis::ranks_weak:
      return ranks_of(run);
  }
  return std::nullopt;
}

std::optional<double> rate_of(const Run& run, Axis axis) {
  if (run.status != RunStatus::ok || !run.timing || !run.throughput) return std::nullopt;
  auto rate = (axis == Axis::width ? kFlopRate : kThroughput).value(run);
  if (axis == Axis::samples)
    rate = static_cast<double>(run.timing->steps()) * static_cast<double>(run.workload.batch) / run.timing->wall_seconds;
  return rate && positive(*rate) ? rate : std::nullopt;
}

std::optional<double> usd_of(const Run& run, Axis axis) {
  if (!run.cost || !in_usd(*run.cost)) return std::nullopt;
  const std::optional<double> usd = axis == Axis::samples ? run.cost->usd_total : run.cost->usd_per_epoch;
  return usd && positive(*usd) ? usd : std::nullopt;
}

void add_run(CurvePoint& point, const Run& run, Axis axis) {
  point.runs.push_back(&run);
  const std::optional<double> rate = rate_of(run, axis), usd = usd_of(run, axis);
  if (rate) point.rates.push_back(*rate);
  if (rate && usd) point.usd.push_back(*usd);
}

std::vector<const CurvePoint*> measured(const Curve& curve) {
  std::vector<const CurvePoint*> points;
  for (const CurvePoint& point : curve.points)
    if (!point.rates.empty()) points.push_back(&point);
  return points;
}

constexpr const char* kNothingMeasured = "no point was measured";
constexpr const char* kOneValue = "only one value was measured";

}  // namespace

const char* measure_of(Axis axis) { return row_of(axis).measure; }

std::vector<Curve> curves_of(const Result& result, Axis axis, const std::function<bool(const Run&)>& wanted) {
  std::vector<const Run*> runs;
  for (const Run& run : result.runs)
    if ((!wanted || wanted(run)) && run.status != RunStatus::skipped && value_of(run, axis).value_or(0) > 0)
      runs.push_back(&run);
  std::ranges::stable_sort(runs, {}, &Run::repetition);
  ListByKey<&Curve::name> curves;
  std::map<std::string, std::string> undivided;  // from a curve in which ranks divide something to the one without
  for (const Run* run : runs) {
    Settings settings = settings_of_curve(*run, axis);
    const std::string name = label_of(settings);
    if (over_ranks(axis)) {
      Settings without = settings;
      for (const char* key : kOfSeveralRanks) without.erase(key);
      if (without.size() < settings.size()) undivided[name] = label_of(without);
    }
    Curve& curve = curves[name];
    if (curve.points.empty()) curve = empty_curve(*run, std::move(settings));
    const std::int64_t value = *value_of(*run, axis);
    auto point = std::ranges::lower_bound(curve.points, value, {}, &CurvePoint::value);
    if (point == curve.points.end() || point->value != value) point = curve.points.insert(point, {value, {}, {}, {}});
    add_run(*point, *run, axis);
  }
  std::vector<Curve> all = curves.take();
  std::set<std::string> given;  // names of curves whose point of one rank was copied to others
  for (const auto& [name, without] : undivided) {
    const auto divided = std::ranges::find(all, name, &Curve::name), base = std::ranges::find(all, without, &Curve::name);
    const CurvePoint* one = base == all.end() ? nullptr : base->at(1);
    if (!one || divided->at(1)) continue;
    divided->points.insert(divided->points.begin(), CurvePoint(*one));
    given.insert(without);
  }
  std::erase_if(all, [&](const Curve& curve) { return curve.points.size() == 1 && given.contains(curve.name); });
  return all;
}

const CurvePoint* Curve::at(std::int64_t value) const {
  const auto point = std::ranges::lower_bound(points, value, {}, &CurvePoint::value);
  return point == points.end() || point->value != value ? nullptr : &*point;
}

// Why the ratio of two points of a curve has no interval. The reason of ratio_estimate() speaks of sides, which points are not.
std::string why_no_interval(const std::vector<const CurvePoint*>& points, const Estimate& ratio) {
  const auto fewest =
      (*std::ranges::min_element(points, {}, [](const CurvePoint* point) { return point->rates.size(); }))->rates.size();
  return fewest < kMinRepetitions ? too_few_per_point(fewest) : ratio.reason;
}

std::pair<BestChoice, std::vector<double>> choose_point(const std::vector<const CurvePoint*>& points) {
  std::vector<std::vector<double>> rates;
  for (const CurvePoint* point : points) rates.push_back(point->rates);
  const BestChoice choice = choose_best(rates);
  return {choice, estimating(choice, [&](std::size_t place) { return rates[place]; })};
}

CurveBest best_of(const Curve& curve) {
  CurveBest best{curve.name, curve.device, curve.precision, {}, {}, {}, {}};
  const auto points = measured(curve);
  if (points.empty()) {
    best.reason = kNothingMeasured;
    return best;
  }
  const auto [chosen, rates] = choose_point(points);
  const BestChoice& choice = chosen;
  const CurvePoint* top = points[choice.place];
  best.value = top->value;
  best.rate = geometric_mean(rates);
  if (points.size() == 1) {
    best.reason = kOneValue;
    return best;
  }
  const std::string doubt =
      choice_doubt(choice, points.size(), [&](std::size_t place) { return std::to_string(points[place]->value); });
  if (!doubt.empty()) best.reason = doubt;
  std::vector<std::int64_t> equals;
  // Any of the others may be mistaken for slower.
  const double error = choice.error() / static_cast<double>(points.size() - 1);
  for (const CurvePoint* point : points) {
    if (point == top) continue;
    const Estimate ratio = ratio_estimate(rates, point->rates, error);
    if (!ratio.ci95) {
      best.reason = why_no_interval(points, ratio);
      append(*best.reason, doubt, "; ");
      return best;
    }
    if (ratio.ci95->second >= 1) equals.push_back(point->value);
  }
  best.indistinguishable = std::move(equals);
  return best;
}

CurveFlattening flattening_of(const Curve& curve) {
  CurveFlattening flattening{curve.name, curve.device, curve.precision, {}, {}, {}};
  const auto points = measured(curve);
  if (points.size() < 2) {
    flattening.reason = points.empty() ? kNothingMeasured : kOneValue;
    return flattening;
  }
  const auto [choice, rates] = choose_point(points);
  const CurvePoint* top = points[choice.place];
  std::optional<std::int64_t> earliest, latest;
  for (const CurvePoint* point : points) {
    const Estimate ratio = point == top ? Estimate{1, {{1, 1}}, ""} : ratio_estimate(rates, point->rates, choice.error());
    if (!flattening.value && ratio.value >= kFlatFraction) flattening.value = point->value;
    if (!ratio.ci95) {
      flattening.reason = why_no_interval(points, ratio);
      continue;
    }
    if (!earliest && ratio.ci95->second >= kFlatFraction) earliest = point->value;
    if (!latest && ratio.ci95->first >= kFlatFraction) latest = point->value;
  }
  if (!flattening.reason) flattening.range = {*earliest, *latest};
  if (flattening.value != points.back()->value) return flattening;
  flattening.value.reset();
  const bool surely = !flattening.range || flattening.range->first == flattening.range->second;
  flattening.reason = std::string(surely ? "" : "perhaps ") + "still rising at " + std::to_string(top->value) +
                      ", the largest value that was measured";
  return flattening;
}

}  // namespace epochbench
