// What tools that watch benchmarks get of a run: named quantities with units, one table for every format that takes
// single numbers. It is a choice: csv and the result file hold everything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/analysis/series.h"

namespace epochbench {

enum class Better : std::uint8_t { smaller, bigger, neither };

struct ExportMetric {
  const char* key;                          // "step_seconds_median", as in the result where it stands there
  const char* family;                       // OpenMetrics' name after "epochbench_"; ends with the unit, if it has one
  const char* unit;                         // of `of`, in the terms of OpenMetrics: "seconds"; "" for a pure number
  const char* title;                        // for people: "step time, median"
  const char* shown_unit;                   // for people: "ms", which is
  double shown_scale;                       // the value times this
  Better better;                            // what a tool that alerts must know
  std::optional<double> (*of)(const Run&);  // in `unit`; empty: not known
  std::optional<std::pair<double, double>> (*interval)(const Run&) = nullptr;  // of 95 %, within the run
};
std::span<const ExportMetric> export_metrics();

// Whether the run has any of these quantities.
bool has_metric(const Run& run);

struct MetricSummary {
  double value = 0;  // median of the repetitions
  // Lowest and highest repetition; of a single one its own 95 % interval, where the metric has one.
  std::optional<std::pair<double, double>> range;
  std::size_t repetitions = 0;  // those in which it is known
};
std::optional<MetricSummary> summary_of(const RunGroup& group, const ExportMetric& metric);

}  // namespace epochbench
