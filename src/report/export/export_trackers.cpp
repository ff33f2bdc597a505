// What watches benchmarks from commit to commit: of each name the medians of its repetitions.
//
// Bencher Metric Format (bencher.dev, reference): {benchmark: {measure: {value, lower_value, upper_value}}}. Two measures are
// Bencher's own, with its units: latency, in nanoseconds, is the median step; throughput, in operations per second, counts
// samples. All others are named after the result's keys, in SI units. The bounds are the lowest and highest repetition. Nothing
// says that an epoch is projected.
//
// github-action-benchmark's custom JSON (its README, "Examples": customSmallerIsBetter, customBiggerIsBetter): an array of
// {name, unit, value, range, extra}. That tool alerts in one direction a file and finds a series by its name.
#include <algorithm>
#include <utility>

#include "src/base/json.h"
#include "src/base/numbers.h"
#include "src/report/export/export_formats.h"

namespace epochbench {
namespace {

// A measure of Bencher, and what the metric is multiplied by for it.
std::pair<std::string, double> measure_of(const ExportMetric& metric) {
  std::string key = metric.key;
  if (key == "step_seconds_median") return {"latency", 1e9};
  if (key == "samples_per_second") return {"throughput", 1};
  std::replace(key.begin(), key.end(), '_', '-');  // a measure is found by its slug
  return {key, 1};
}

Json entry(const RunGroup& group, const ExportMetric& metric, const MetricSummary& summary) {
  Json json = {
      {"name", group.name + ": " + metric.title}, {"unit", metric.shown_unit}, {"value", summary.value * metric.shown_scale}};
  if (summary.range)
    json["range"] = "± " + significant((summary.range->second - summary.range->first) / 2 * metric.shown_scale, 3);
  const Run& run = *group.runs.front();
  std::string extra = (summary.repetitions == 1 ? "" : "median of ") +
                      counted(summary.repetitions, "repetition", "repetitions") + "\n" + one_line_of(run.device.name, 300);
  if (run.device.threads) extra += ", threads: " + std::to_string(*run.device.threads);
  if (has_projected_epochs(run)) extra += "\nepochs are projected";
  json["extra"] = extra;
  return json;
}

std::string text_of(const Result& result, Better better) {
  Json entries = Json::array();
  for (const RunGroup& group : runs_by_name(result.runs))
    for (const ExportMetric& metric : export_metrics())
      if (const auto summary = summary_of(group, metric); summary && metric.better == better)
        entries.push_back(entry(group, metric, *summary));
  return print_json(entries);
}

}  // namespace

std::string bmf_text(const Result& result) {
  Json benchmarks = Json::object();
  for (const RunGroup& group : runs_by_name(result.runs)) {
    Json& measures = benchmarks[group.name];
    for (const ExportMetric& metric : export_metrics()) {
      const auto summary = summary_of(group, metric);
      if (!summary) continue;
      const auto [measure, scale] = measure_of(metric);
      Json values = {{"value", summary->value * scale}};
      if (summary->range) {
        values["lower_value"] = summary->range->first * scale;
        values["upper_value"] = summary->range->second * scale;
      }
      measures[measure] = values;
    }
  }
  return print_json(benchmarks);
}

std::string github_benchmark_text(const Result& result) { return text_of(result, Better::smaller); }

std::vector<ExportFile> github_benchmark_folder(const Result& result, const std::string&) {
  return {{"customSmallerIsBetter.json", text_of(result, Better::smaller)},
          {"customBiggerIsBetter.json", text_of(result, Better::bigger)}};
}

}  // namespace epochbench
