// Formats of tools that track benchmarks from commit to commit: one number per case and metric.
//
// Bencher Metric Format (bencher.dev, reference): {benchmark: {measure: {value, lower_value, upper_value}}}. Two measures are
// Bencher's own, with its units: latency, in nanoseconds, is the median step; throughput, in operations per second, counts
// samples. All others are named after the result's keys, in SI units. The bounds are those of the 95 % interval or of the range
// over repetitions. The output does not say that an epoch is projected.
//
// github-action-benchmark's custom JSON (its README, "Examples": customSmallerIsBetter, customBiggerIsBetter): an array of
// {name, unit, value, range, extra}. That tool alerts in one direction per file and finds a series by its name.
#include <algorithm>
#include <utility>

#include "src/base/json.h"
#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/report/export/export_formats.h"

namespace epochbench {
namespace {

struct Number {
  const RunGroup* group = nullptr;
  const ExportMetric* metric = nullptr;
  GroupEstimate summary;
};

struct CaseNumbers {
  std::string name;
  std::vector<Number> numbers;
};

// A measure of Bencher, and the factor from the metric to it.
std::pair<std::string, double> measure_of(const ExportMetric& metric) {
  std::string key = metric.key;
  if (key == "step_seconds_median") return {"latency", 1e9};
  if (key == "samples_per_second") return {"throughput", 1};
  std::replace(key.begin(), key.end(), '_', '-');  // a measure is found by its slug
  return {key, 1};
}

Json entry(const RunGroup& group, const ExportMetric& metric, const GroupEstimate& summary) {
  Json json = {
      {"name", group.name + ": " + metric.title}, {"unit", metric.shown_unit}, {"value", summary.value * metric.shown_scale}};
  if (summary.spread != Spread::none)
    json["range"] = "± " + significant((summary.interval.second - summary.interval.first) / 2 * metric.shown_scale, 3);
  const Run& run = *group.runs.front();
  std::string extra = counted(summary.count, "repetition", "repetitions") + "\n" + one_line_of(run.device.name, 300);
  if (run.device.threads) extra += ", threads: " + std::to_string(*run.device.threads);
  if (has_projected_epochs(run)) extra += "\nepochs are projected";
  json["extra"] = extra;
  return json;
}

// In the order of the cases, each with its metrics in the order of their table.
template <class Take>
void for_each_number(const Result& result, const Take& take) {
  const std::vector<RunGroup> by_case = runs_by_case(result.runs), by_name = runs_by_name(result.runs);
  ListByKey<&CaseNumbers::name> cases;
  for (const RunGroup& group : by_case) cases[group.name];
  for (const ExportMetric& metric : export_metrics())
    for (const RunGroup& group : metric.pooling == Pooling::by_seed ? by_name : by_case)
      if (const auto summary = summary_of(group, metric)) cases[group.name].numbers.push_back({&group, &metric, *summary});
  for (const CaseNumbers& one : cases) take(one);
}

std::string text_of(const Result& result, Better better) {
  Json entries = Json::array();
  for_each_number(result, [&](const CaseNumbers& one) {
    for (const Number& number : one.numbers)
      if (number.metric->better == better) entries.push_back(entry(*number.group, *number.metric, number.summary));
  });
  return print_json(entries);
}

}  // namespace

std::string bmf_text(const Result& result) {
  Json benchmarks = Json::object();
  for_each_number(result, [&](const CaseNumbers& one) {
    Json& measures = benchmarks[one.name];
    for (const Number& number : one.numbers) {
      const auto [measure, scale] = measure_of(*number.metric);
      Json values = {{"value", number.summary.value * scale}};
      if (number.summary.spread != Spread::none) {
        values["lower_value"] = number.summary.interval.first * scale;
        values["upper_value"] = number.summary.interval.second * scale;
      }
      measures[measure] = values;
    }
  });
  return print_json(benchmarks);
}

std::string github_benchmark_text(const Result& result) { return text_of(result, Better::smaller); }

std::vector<ExportFile> github_benchmark_folder(const Result& result, const std::string&) {
  return {{"customSmallerIsBetter.json", text_of(result, Better::smaller)},
          {"customBiggerIsBetter.json", text_of(result, Better::bigger)}};
}

}  // namespace epochbench
