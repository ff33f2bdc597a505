#include "src/analysis/case_summary.h"

#include "src/analysis/cost/cost.h"
#include "src/analysis/peak_share.h"
#include "src/base/statistics.h"

namespace epochbench {
namespace {

std::vector<double> known_over(const Repetitions& runs, const FigureOf& figure) {
  return known_values(runs, [&](const Run* run) { return figure(*run); });
}

// Amounts in one currency; a resumed result may hold several.
std::optional<GroupEstimate> cost_over(const Repetitions& runs) {
  std::optional<std::string> currency;
  for (const Run* run : runs) {
    if (!run->cost) continue;
    const std::string own = run->cost->currency.value_or("USD");
    if (currency.value_or(own) != own) return std::nullopt;
    currency = own;
  }
  return estimate_over(runs, figure<&Run::cost, &Cost::usd_per_epoch>);
}

}  // namespace

std::optional<GroupEstimate> estimate_over(const Repetitions& runs, const FigureOf& figure) {
  const std::vector<double> values = known_over(runs, figure);
  if (values.empty() || !std::isfinite(geometric_mean_estimate(values).value)) return std::nullopt;
  return estimate_of_groups(values);
}

std::optional<double> mean_over(const Repetitions& runs, const FigureOf& figure) {
  const double value = mean(known_over(runs, figure));
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<double> greatest_over(const Repetitions& runs, const FigureOf& figure) {
  const std::vector<double> values = known_over(runs, figure);
  return values.empty() ? std::nullopt : std::optional(std::ranges::max(values));
}

CaseSummary summary_of_case(std::string name, Repetitions runs) {
  CaseSummary summary;
  summary.name = std::move(name);
  summary.runs = std::move(runs);
  const auto estimate = [&](const FigureOf& figure) { return estimate_over(summary.runs, figure); };
  summary.step_seconds = estimate(figure<&Run::timing, &Timing::step_seconds_median>);
  summary.samples_per_second = estimate(figure<&Run::throughput, &Throughput::samples_per_second>);
  summary.epoch_seconds = estimate(figure<&Run::timing, &Timing::epoch_seconds>);
  summary.cost_per_epoch = cost_over(summary.runs);
  summary.joules_per_epoch = estimate(figure<&Run::energy, &Energy::joules_per_epoch>);
  summary.gpu_joules_per_epoch = estimate(figure<&Run::energy, &Energy::gpu_joules_per_epoch>);
  summary.cpu_joules_per_epoch = estimate(figure<&Run::energy, &Energy::cpu_joules_per_epoch>);
  summary.average_watts = estimate(figure<&Run::energy, &Energy::average_watts>);
  summary.gpu_average_watts = estimate(figure<&Run::energy, &Energy::gpu_average_watts>);
  summary.cpu_average_watts = estimate(figure<&Run::energy, &Energy::cpu_average_watts>);
  summary.peak_fraction = estimate(shown_peak_fraction);
  return summary;
}

std::vector<CaseSummary> case_summaries(std::span<const Run> runs, const std::function<bool(const Run&)>& wanted) {
  const auto counts = [&](const Run& run) {
    return run.status == RunStatus::ok && run.timing && run.throughput && (!wanted || wanted(run));
  };
  std::vector<CaseSummary> list;
  for (RunGroup& group : runs_by_case(runs, counts))
    list.push_back(summary_of_case(std::move(group.name), std::move(group.runs)));
  return list;
}

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

}  // namespace epochbench
