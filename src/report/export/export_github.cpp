// github-action-benchmark's custom JSON (its README, "Examples": customSmallerIsBetter, customBiggerIsBetter): an array of
// {name, unit, value, range, extra}.
//
// That tool alerts in one direction a file and finds a series by its name, so repetitions are summed up: `value` is their
// median.
#include "src/base/json.h"
#include "src/base/units.h"
#include "src/report/export/export_formats.h"
#include "src/report/export/export_metrics.h"

namespace epochbench {
namespace {

Json entry(const RunGroup& group, const ExportMetric& metric, const MetricSummary& summary) {
  Json json = {
      {"name", group.name + ": " + metric.title}, {"unit", metric.shown_unit}, {"value", summary.value * metric.shown_scale}};
  if (summary.range)
    json["range"] = "± " + significant((summary.range->second - summary.range->first) / 2 * metric.shown_scale, 3);
  const Run& run = *group.runs.front();
  std::string extra =
      summary.repetitions == 1 ? "1 repetition" : "median of " + std::to_string(summary.repetitions) + " repetitions";
  extra += "\n" + one_line_of(run.device.name, 300);
  if (run.device.threads) extra += ", threads: " + std::to_string(*run.device.threads);
  if (run.timing && run.timing->epoch_kind == "projected") extra += "\nepochs are projected";
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

std::string github_benchmark_text(const Result& result) { return text_of(result, Better::smaller); }

std::vector<ExportFile> github_benchmark_folder(const Result& result, const std::string&) {
  return {{"customSmallerIsBetter.json", text_of(result, Better::smaller)},
          {"customBiggerIsBetter.json", text_of(result, Better::bigger)}};
}

}  // namespace epochbench
