// Bencher Metric Format (bencher.dev, reference): {benchmark: {measure: {value, lower_value, upper_value}}}.
//
// Two measures are Bencher's own, with its units: latency, in nanoseconds, is the median step; throughput, in operations a
// second, counts samples. All others are named after the result's keys, in SI units. Repetitions are summed up: `value` is
// their median, the bounds are the lowest and highest. There is no place to say that an epoch is projected.
#include <algorithm>

#include "src/base/json.h"
#include "src/report/export/export_formats.h"
#include "src/report/export/export_metrics.h"

namespace epochbench {
namespace {

struct Measure {
  std::string name;
  double scale = 1;
};

Measure measure_of(const ExportMetric& metric) {
  std::string key = metric.key;
  if (key == "step_seconds_median") return {"latency", 1e9};
  if (key == "samples_per_second") return {"throughput"};
  std::replace(key.begin(), key.end(), '_', '-');  // a measure is found by its slug
  return {key};
}

}  // namespace

std::string bmf_text(const Result& result) {
  Json benchmarks = Json::object();
  for (const RunGroup& group : runs_by_name(result.runs)) {
    Json& measures = benchmarks[group.name];
    for (const ExportMetric& metric : export_metrics()) {
      const auto summary = summary_of(group, metric);
      if (!summary) continue;
      const Measure measure = measure_of(metric);
      Json values = {{"value", summary->value * measure.scale}};
      if (summary->range) {
        values["lower_value"] = summary->range->first * measure.scale;
        values["upper_value"] = summary->range->second * measure.scale;
      }
      measures[measure.name] = values;
    }
  }
  return print_json(benchmarks);
}

}  // namespace epochbench
