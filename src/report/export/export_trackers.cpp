// Formats of tools that track benchmarks from commit to commit: one number per case and figure.
//
// Bencher Metric Format (bencher.dev, reference): {benchmark: {measure: {value, lower_value, upper_value}}}. Two measures are
// Bencher's own, with its units: latency, in nanoseconds, is the median step; throughput, in operations per second, counts
// samples. All others are named after the result's keys, in SI units. The bounds are those of the 95 % interval or of the range
// over repetitions. The output does not say that an epoch is projected, and `foreign-cpu-cores` stands for the mark of load.
//
// github-action-benchmark's custom JSON (its README, "Examples": customSmallerIsBetter, customBiggerIsBetter): an array of
// {name, unit, value, range, extra}. That tool alerts in one direction per file and finds a series by its name.
//
// Both say for each case how many runs failed, 0 too: a tool compares a series with its last value, so a case that failed is
// noticed only if the series has a number on both sides.
#include <algorithm>
#include <map>
#include <utility>

#include "src/analysis/case_settings.h"
#include "src/base/json.h"
#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/report/export/export_formats.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

struct Number {
  const RunGroup* group = nullptr;
  const Figure* figure = nullptr;
  GroupEstimate summary;
};

struct CaseNumbers {
  std::string name;
  std::vector<Number> numbers;
  Repetitions runs;  // ok or failed; empty for a seed of a case
};

bool is_ok(const Run& run) { return run.status == RunStatus::ok; }
bool has_failed(const Run& run) { return is_failure(run.status); }

// Runs that are ok or failed, by case. A failed run may not know its device's name, so it joins the case with its settings.
std::vector<RunGroup> ended_cases(const Result& result) {
  std::vector<RunGroup> cases = runs_by_case(result.runs, is_ok);
  std::map<Settings, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < cases.size(); ++i) places[speed_settings(*cases[i].runs.front())].push_back(i);
  for (RunGroup& failed : runs_by_case(result.runs, has_failed)) {
    const auto same = places.find(speed_settings(*failed.runs.front()));
    if (same == places.end() || same->second.size() > 1) {
      cases.push_back(std::move(failed));
      continue;
    }
    RunGroup& group = cases[same->second.front()];
    group.runs.insert(group.runs.end(), failed.runs.begin(), failed.runs.end());
    group.name = name_of(group.runs);  // a series keeps its name when one of two seeds fails
  }
  return cases;
}

// A measure of Bencher, and the factor from the figure to it.
std::pair<std::string, double> measure_of(const Figure& figure) {
  if (&figure == &kStepTime) return {"latency", 1e9};
  if (&figure == &kThroughput) return {"throughput", 1};
  std::string key = figure.key;
  std::replace(key.begin(), key.end(), '_', '-');  // a measure is found by its slug
  return {key, 1};
}

Json entry(const RunGroup& group, const Figure& figure, const GroupEstimate& summary) {
  Json json = {
      {"name", group.name + ": " + figure.title}, {"unit", figure.unit.shown}, {"value", summary.value * figure.unit.scale}};
  if (summary.spread != Spread::none)
    json["range"] = "± " + significant((summary.interval.second - summary.interval.first) / 2 * figure.unit.scale, 3);
  const Run& run = *group.runs.front();
  std::string extra = counted(summary.count, "repetition", "repetitions") + "\n" + one_line_of(run.device.name, 300);
  if (run.device.threads) extra += ", threads: " + std::to_string(*run.device.threads);
  if (has_projected_epochs(run)) extra += "\nepochs are projected";
  if (any_disturbed(group.runs)) extra += "\n" + load_note();
  json["extra"] = extra;
  return json;
}

std::size_t failed_runs(const CaseNumbers& one) {
  return static_cast<std::size_t>(std::ranges::count_if(one.runs, [](const Run* run) { return has_failed(*run); }));
}

Json failed_entry(const CaseNumbers& one) {
  std::vector<std::string> lines = {"of " + counted(one.runs.size(), "repetition", "repetitions")};
  for (const Run* run : one.runs)
    if (has_failed(*run)) lines.push_back(one_line_of(describe(run->status, run->message), 300));
  return {{"name", one.name + ": failed runs"},
          {"unit", "runs"},
          {"value", failed_runs(one)},
          {"extra", joined(without_repeats(lines), "\n")}};
}

// Cases that only failed come last; each has its figures in the order of their table.
template <class Take>
void for_each_case(const Result& result, const Take& take) {
  const std::vector<RunGroup> ended = ended_cases(result), by_name = runs_by_name(result.runs, is_ok);
  std::vector<RunGroup> by_case = ended;
  for (RunGroup& group : by_case) std::erase_if(group.runs, [](const Run* run) { return !is_ok(*run); });
  std::erase_if(by_case, [](const RunGroup& group) { return group.runs.empty(); });
  ListByKey<&CaseNumbers::name> cases;
  for (const RunGroup& group : ended) {
    Repetitions& runs = cases[group.name].runs;
    runs.insert(runs.end(), group.runs.begin(), group.runs.end());
  }
  for (const Figure* figure : exported_figures())
    for (const RunGroup& group : figure->pooling == Pooling::by_seed ? by_name : by_case)
      if (const auto summary = summarize(group.runs, *figure)) cases[group.name].numbers.push_back({&group, figure, *summary});
  for (const CaseNumbers& one : cases) take(one);
}

std::string text_of(const Result& result, Better better) {
  Json entries = Json::array();
  for_each_case(result, [&](const CaseNumbers& one) {
    for (const Number& number : one.numbers)
      if (number.figure->better == better) entries.push_back(entry(*number.group, *number.figure, number.summary));
    if (better == Better::smaller && !one.runs.empty()) entries.push_back(failed_entry(one));
  });
  return print_json(entries);
}

}  // namespace

std::string tracker_left_out(const Run& run) {
  if (has_failed(run)) return "";
  if (!is_ok(run)) return name(run.status);
  const bool known =
      std::ranges::any_of(exported_figures(), [&](const Figure* figure) { return figure->value(run).has_value(); });
  return known ? "" : "ok, but nothing of it is known";
}

std::string bmf_text(const Result& result) {
  Json benchmarks = Json::object();
  for_each_case(result, [&](const CaseNumbers& one) {
    Json& measures = benchmarks[one.name];
    for (const Number& number : one.numbers) {
      const auto [measure, scale] = measure_of(*number.figure);
      Json values = {{"value", number.summary.value * scale}};
      if (number.summary.spread != Spread::none) {
        values["lower_value"] = number.summary.interval.first * scale;
        values["upper_value"] = number.summary.interval.second * scale;
      }
      measures[measure] = values;
    }
    if (!one.runs.empty()) measures["failed-runs"] = {{"value", failed_runs(one)}};
  });
  return print_json(benchmarks);
}

std::string github_benchmark_text(const Result& result) { return text_of(result, Better::smaller); }

std::vector<ExportFile> github_benchmark_folder(const Result& result, const std::string&) {
  return {{"customSmallerIsBetter.json", text_of(result, Better::smaller)},
          {"customBiggerIsBetter.json", text_of(result, Better::bigger)}};
}

}  // namespace epochbench
