#include "src/figures/figure.h"

#include <algorithm>

namespace epochbench {
namespace {

// The quality after training, if it is measured by this metric.
std::optional<double> quality(const Run& run, const char* metric) {
  return run.quality && run.quality->eval_metric == metric ? recorded<&Run::quality, &Quality::eval_value>(run) : std::nullopt;
}

}  // namespace

bool in_usd(const Cost& cost) { return cost.currency.value_or("USD") == "USD"; }

std::optional<std::pair<double, double>> spread_within_run(const Run& run) {
  if (!run.timing || run.timing->step_seconds.size() < kMinStepsForSpread) return std::nullopt;
  const auto& ends = run.timing->step_seconds_ci95;
  return ends && std::isfinite(ends->first) && std::isfinite(ends->second) ? ends : std::nullopt;
}

std::optional<double> relative_spread_within_run(const Run& run) {
  const auto ends = spread_within_run(run);
  if (!ends || !(run.timing->step_seconds_median > 0)) return std::nullopt;
  return (ends->second - ends->first) / 2 / run.timing->step_seconds_median;
}

std::optional<double> shown_peak_fraction(const Run& run) {
  const auto share = recorded<&Run::efficiency, &Efficiency::peak_fraction>(run);
  return share ? std::optional(std::min(*share, 1.0)) : std::nullopt;
}

std::optional<double> test_loss(const Run& run) { return quality(run, "loss"); }

std::optional<double> test_accuracy(const Run& run) { return quality(run, "accuracy"); }

std::optional<double> usd_per_epoch(const Run& run) {
  return run.cost && in_usd(*run.cost) ? recorded<&Run::cost, &Cost::usd_per_epoch>(run) : std::nullopt;
}

}  // namespace epochbench
