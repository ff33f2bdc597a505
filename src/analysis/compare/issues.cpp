#include "src/analysis/compare/issues.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "src/analysis/parity.h"
#include "src/base/statistics.h"

namespace epochbench {
namespace {

// NaN if one of the values is not finite.
double finite_median(std::vector<double> values) {
  const bool finite = std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
  return finite ? median(std::move(values)) : std::numeric_limits<double>::quiet_NaN();
}

bool known(const std::vector<double>& values) {
  return !values.empty() && std::ranges::all_of(values, [](double value) { return std::isfinite(value) && value >= 0; });
}

std::size_t common_steps(std::span<const std::vector<double>> processes) {
  std::size_t steps = std::numeric_limits<std::size_t>::max();
  for (const std::vector<double>& losses : processes) steps = std::min(steps, losses.size());
  return processes.empty() ? 0 : steps;
}

std::vector<double> losses_at(std::span<const std::vector<double>> processes, std::size_t index) {
  std::vector<double> losses;
  for (const std::vector<double>& process : processes) losses.push_back(process[index]);
  return losses;
}

double spread(const std::vector<double>& losses) {
  const auto [low, high] = std::ranges::minmax_element(losses);
  return *high - *low;
}

}  // namespace

bool fails(IssueCode code) { return code == IssueCode::not_ok || code == IssueCode::peak_memory; }

std::optional<Issue> peak_memory_issue(std::vector<double> baseline_bytes, std::vector<double> new_bytes) {
  if (!known(baseline_bytes) || !known(new_bytes)) return std::nullopt;
  const double before = median(std::move(baseline_bytes)), after = median(std::move(new_bytes));
  if (!(before > 0)) return std::nullopt;
  double limit = std::numeric_limits<double>::infinity();
  for (const MemoryRise& rise : kMemoryRises) limit = std::min(limit, std::max(before * rise.ratio, before + rise.bytes));
  if (after < limit) return std::nullopt;
  return Issue{IssueCode::peak_memory, before, after, limit / before};
}

std::optional<Issue> compile_time_issue(std::vector<double> baseline_seconds, std::vector<double> new_seconds) {
  if (!known(baseline_seconds) || !known(new_seconds)) return std::nullopt;
  const double before = median(std::move(baseline_seconds)), after = median(std::move(new_seconds));
  if (after < before * kCompileTimeRatio || after - before < kCompileSeconds) return std::nullopt;
  return Issue{IssueCode::compile_time, before, after, kCompileTimeRatio};
}

double explained_loss_difference(std::size_t step, Precision precision) {
  constexpr double kOrderly = 100, kTenfold = 50, kElsewhere = 0.25;  // steps, steps, and a relative difference
  const auto steps = static_cast<double>(step);
  const double orderly = parity_bound(precision) * std::max(1.0, steps / static_cast<double>(kParitySteps));
  return std::min(kElsewhere, orderly * std::pow(10, std::max(0.0, steps - kOrderly) / kTenfold));
}

std::optional<Issue> loss_issue(double baseline, double contender, std::size_t step, double scale, Precision precision) {
  const double limit = explained_loss_difference(step, precision);
  const bool within = std::fabs(contender - baseline) <= limit * std::max(scale, std::numeric_limits<double>::min());
  if (within || !std::isfinite(baseline)) return std::nullopt;  // a loss that is now NaN differs from every number
  return Issue{IssueCode::final_loss, baseline, contender, limit, {}, step};
}

std::optional<Issue> final_loss_issue(std::span<const std::vector<double>> baseline,
                                      std::span<const std::vector<double>> contender, Precision precision) {
  const std::size_t steps = std::min(common_steps(baseline), common_steps(contender));
  double scale = 0;
  for (std::size_t index = 0; index < steps; ++index) {
    const std::vector<double> ours = losses_at(baseline, index), theirs = losses_at(contender, index);
    const double before = finite_median(ours), after = finite_median(theirs);
    if (!std::isfinite(before)) continue;
    scale = std::max(scale, std::fabs(before));
    if (index >= kParitySteps && index + 1 < steps) continue;
    const auto issue = loss_issue(before, after, index + 1, scale, precision);
    if (!issue) continue;
    if (!std::isfinite(after) || std::fabs(after - before) > 2 * std::max(spread(ours), spread(theirs))) return issue;
  }
  return std::nullopt;
}

}  // namespace epochbench
