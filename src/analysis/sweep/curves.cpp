#include "src/analysis/sweep/curves.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "src/analysis/case_settings.h"
#include "src/analysis/cost/cost.h"
#include "src/analysis/estimate.h"
#include "src/base/statistics.h"

namespace epochbench {
namespace {

constexpr std::array<const char*, 4> kAxes{"batch", "width", "samples", "threads"};

bool positive(double value) { return std::isfinite(value) && value > 0; }

// All settings but the one that the axis varies: what a curve's runs share.
Settings settings_of_curve(const Run& run, Axis axis) {
  Settings settings = case_settings(run);
  const auto options = settings.find("model_options");
  switch (axis) {
    case Axis::batch:
      settings.erase("batch");
      break;
    case Axis::width:
      if (options == settings.end()) break;
      if (auto* values = std::get_if<ModelOptions>(&options->second)) values->erase("width");
      break;
    case Axis::samples:
      settings.erase("epoch_samples");
      break;
    case Axis::threads:
      settings.erase("threads");
      break;
  }
  return settings;
}

Curve empty_curve(const Run& run, Settings settings) {
  Curve curve;
  curve.name = label_of(settings);
  curve.model = model_text(settings);
  curve.device = device_text(settings);
  curve.precision = run.precision;
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
      const auto option = workload.options.find("width");
      return option != workload.options.end() ? std::optional(option->second) : model_option(run, "width");
    }
    case Axis::samples:
      return workload.samples_per_epoch;
    case Axis::threads:
      return run.device.backend == "cuda" ? std::nullopt : std::optional<std::int64_t>(run.device.threads);
  }
  return std::nullopt;
}

std::optional<double> rate_of(const Run& run, Axis axis) {
  if (run.status != RunStatus::ok || !run.timing || !run.throughput) return std::nullopt;
  double rate = run.throughput->samples_per_second;
  if (axis == Axis::width) rate = run.efficiency ? run.efficiency->flops_per_second : 0;
  if (axis == Axis::samples)
    rate = static_cast<double>(run.timing->step_seconds.size()) * static_cast<double>(run.workload.batch) /
           run.timing->wall_seconds;
  return positive(rate) ? std::optional(rate) : std::nullopt;
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

const CurvePoint* fastest(const std::vector<const CurvePoint*>& points) {
  const auto found = std::max_element(points.begin(), points.end(), [](const CurvePoint* a, const CurvePoint* b) {
    return geometric_mean(a->rates) < geometric_mean(b->rates);
  });
  return found == points.end() ? nullptr : *found;
}

constexpr const char* kNothingMeasured = "no point was measured";

}  // namespace

const char* name(Axis axis) { return kAxes[static_cast<std::size_t>(axis)]; }

std::optional<Axis> axis_from_name(std::string_view name) {
  const auto found = std::find(kAxes.begin(), kAxes.end(), name);
  if (found == kAxes.end()) return std::nullopt;
  return static_cast<Axis>(found - kAxes.begin());
}

const char* measure_of(Axis axis) {
  switch (axis) {
    case Axis::batch:
    case Axis::threads:
      return "samples_per_second";
    case Axis::width:
      return "flops_per_second";
    case Axis::samples:
      return "samples_per_wall_second";
  }
  return "?";
}

std::vector<Curve> curves_of(const Result& result, Axis axis) {
  std::vector<const Run*> runs;
  for (const Run& run : result.runs)
    if (run.status != RunStatus::skipped && value_of(run, axis).value_or(0) > 0) runs.push_back(&run);
  std::stable_sort(runs.begin(), runs.end(), [](const Run* a, const Run* b) { return a->repetition < b->repetition; });
  std::vector<Curve> curves;
  for (const Run* run : runs) {
    Settings settings = settings_of_curve(*run, axis);
    const std::string name = label_of(settings);
    auto curve = std::find_if(curves.begin(), curves.end(), [&](const Curve& other) { return other.name == name; });
    if (curve == curves.end()) curve = curves.insert(curve, empty_curve(*run, std::move(settings)));
    const std::int64_t value = *value_of(*run, axis);
    auto point =
        std::find_if(curve->points.begin(), curve->points.end(), [&](const CurvePoint& other) { return other.value >= value; });
    if (point == curve->points.end() || point->value != value) point = curve->points.insert(point, {value, {}, {}, {}});
    add_run(*point, *run, axis);
  }
  return curves;
}

CurveBest best_of(const Curve& curve) {
  CurveBest best{curve.name, curve.device, curve.precision, {}, {}, {}, {}};
  const auto points = measured(curve);
  const CurvePoint* top = fastest(points);
  if (!top) {
    best.reason = kNothingMeasured;
    return best;
  }
  best.value = top->value;
  best.rate = geometric_mean(top->rates);
  std::vector<std::int64_t> equals;
  for (const CurvePoint* point : points) {
    if (point == top) continue;
    const Estimate ratio = ratio_estimate(top->rates, point->rates);
    if (!ratio.ci95) {
      best.reason = ratio.reason;
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
    flattening.reason = points.empty() ? kNothingMeasured : "only one value was measured";
    return flattening;
  }
  const CurvePoint* top = fastest(points);
  std::optional<std::int64_t> earliest, latest;
  for (const CurvePoint* point : points) {
    const Estimate ratio = point == top ? Estimate{1, {{1, 1}}, ""} : ratio_estimate(top->rates, point->rates);
    if (!flattening.value && ratio.value >= kFlatFraction) flattening.value = point->value;
    if (!ratio.ci95) {
      flattening.reason = ratio.reason;
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
