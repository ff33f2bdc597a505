#include "src/figures/figure.h"

#include <algorithm>

#include "src/base/clock.h"
#include "src/result/price_source.h"

namespace epochbench {
namespace {

// The quality after training, if it is measured by this metric.
std::optional<double> quality(const Run& run, EvalMetric metric) {
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

std::optional<double> test_loss(const Run& run) { return quality(run, EvalMetric::loss); }

std::optional<double> blind_share(const Run& run) {
  const std::optional<double> step = recorded<&Run::timing, &Timing::step_seconds_median>(run);
  if (!run.device.blind_seconds || !step || *step <= 0) return std::nullopt;
  return std::min(1.0, *run.device.blind_seconds / *step);
}

std::optional<double> test_accuracy(const Run& run) { return quality(run, EvalMetric::accuracy); }

std::optional<double> usd_per_epoch(const Run& run) {
  return run.cost && in_usd(*run.cost) ? recorded<&Run::cost, &Cost::usd_per_epoch>(run) : std::nullopt;
}

std::optional<double> whole_usd_per_epoch(const Run& run) {
  const auto share = usd_per_epoch(run), times = whole_over_share(member_of(run.cost, &Cost::price_source).value_or(""));
  return share && times ? std::optional(*share * *times) : std::nullopt;
}

std::optional<double> first_epoch_seconds(const Run& run) {
  const auto epoch = recorded<&Run::timing, &Timing::epoch_seconds>(run),
             compiling = recorded<&Run::timing, &Timing::compile_seconds>(run);
  if (!epoch || !compiling) return std::nullopt;
  const auto evaluation = member_of(run.timing, &Timing::evaluation_seconds);
  const std::size_t evaluations = run.quality ? run.quality->eval_history.size() : 0;
  return *epoch + *compiling + (evaluation && evaluations > 0 ? *evaluation / static_cast<double>(evaluations) : 0);
}

std::optional<double> first_epoch_usd(const Run& run) {
  const auto seconds = first_epoch_seconds(run);
  if (!seconds || !run.cost || !in_usd(*run.cost) || !run.cost->usd_per_hour) return std::nullopt;
  const double usd = *run.cost->usd_per_hour * *seconds / kSecondsPerHour;
  return std::isfinite(usd) ? std::optional(usd) : std::nullopt;
}

}  // namespace epochbench
