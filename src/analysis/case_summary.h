// The numbers that every output shows for a case and its repetitions, so that tables, answers, pages and exports agree.
//
// A quantity that is above 0 in every repetition is summarized by its geometric mean. Epoch, cost and energy are multiples of
// a repetition's seconds per sample, so they follow from the samples per second that are shown, and a ratio is the quotient
// of two shown numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/analysis/estimate.h"
#include "src/analysis/series.h"
#include "src/base/lookup.h"
#include "src/result/result.h"

namespace epochbench {

// A figure of a run: figure<&Run::timing, &Timing::epoch_seconds>(run). Empty if the group or the figure is not known.
template <auto kGroup, auto kMember>
std::optional<double> figure(const Run& run) {
  const auto member = member_of(run.*kGroup, kMember);
  if (!member || !std::isfinite(static_cast<double>(*member))) return std::nullopt;
  return static_cast<double>(*member);
}

using FigureOf = std::function<std::optional<double>(const Run&)>;
using Repetitions = std::vector<const Run*>;

// Over the repetitions that know it; empty if none does, or if one reports a value that is not above 0.
std::optional<GroupEstimate> estimate_over(const Repetitions& runs, const FigureOf& figure);
// For figures that may be 0 or below: fractions, qualities. Empty if no repetition knows it.
std::optional<double> mean_over(const Repetitions& runs, const FigureOf& figure);
// For figures that do not depend on chance, such as memory, or should not occur at all.
std::optional<double> greatest_over(const Repetitions& runs, const FigureOf& figure);

struct CaseSummary {
  std::string name;
  Repetitions runs;                                                         // at least one; seeds are repetitions
  std::optional<GroupEstimate> step_seconds, samples_per_second;            // step: each repetition's median step
  std::optional<GroupEstimate> epoch_seconds, cost_per_epoch;               // cost: in the currency of the first
  std::optional<GroupEstimate> joules_per_epoch;                            // of all parts of the device
  std::optional<GroupEstimate> gpu_joules_per_epoch, cpu_joules_per_epoch;  // of one part, if known
  std::optional<GroupEstimate> average_watts, gpu_average_watts, cpu_average_watts;
  std::optional<GroupEstimate> peak_fraction;  // as shown: src/analysis/peak_share.h

  const Run& first() const { return *runs.front(); }
};

// Precondition: there are runs.
CaseSummary summary_of_case(std::string name, Repetitions runs);
inline CaseSummary summary_of_case(const Series& series) { return summary_of_case(series.name(), series.runs); }

// One for each case of a result, over its runs that are ok and have times and throughput.
std::vector<CaseSummary> case_summaries(std::span<const Run> runs, const std::function<bool(const Run&)>& wanted = {});

// How far the median step of one run may be off, judged by its own steps, as the ends of an interval. Processes differ by more,
// so no verdict uses it. Empty for fewer than kMinStepsForSpread steps.
inline constexpr std::size_t kMinStepsForSpread = 10;
std::optional<std::pair<double, double>> spread_within_run(const Run& run);
// Half its width over the median.
std::optional<double> relative_spread_within_run(const Run& run);

}  // namespace epochbench
