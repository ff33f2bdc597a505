// The JSON of Google Benchmark's reporter (its docs/user_guide.md, "Output Formats"), for its tools/compare.py.
//
// Repetitions are separate entries, as compare.py's U test expects. Times are means over the timed steps, in microseconds
// throughout, since compare.py pairs only entries with the same unit. CPU time is not measured: cpu_time repeats the wall time,
// and the context says so.
//
// A failed run has Google Benchmark's error_occurred and error_message, but no times: its own reporter writes 0, which
// compare.py shows as 100 % faster. compare.py reads the times of every entry for its geometric mean, except of aggregates, and
// pairs only entries with the same unit; so a failed run is an aggregate without a unit, which compare.py passes over.
#include <algorithm>
#include <cctype>
#include <cmath>

#include "src/base/json.h"
#include "src/base/lookup.h"
#include "src/base/text.h"
#include "src/report/export/export_formats.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

Json context_of(const Context& context) {
  std::string build = context.build_type;
  std::transform(build.begin(), build.end(), build.begin(), [](unsigned char c) { return std::tolower(c); });
  Json json = {{"date", context.date}, {"executable", "epochbench"}, {"num_cpus", context.cpu.threads_available}};
  if (context.host_name) json["host_name"] = *context.host_name;
  if (context.cpu.frequency_scaling != "unknown") json["cpu_scaling_enabled"] = context.cpu.frequency_scaling == "yes";
  Json caches = Json::array();
  const auto add_cache = [&](const char* type, int level, const std::optional<std::int64_t>& size) {
    if (size) caches.push_back({{"type", type}, {"level", level}, {"size", *size}});
  };
  add_cache("Data", 1, context.cpu.l1d_bytes);
  add_cache("Unified", 2, context.cpu.l2_bytes);
  add_cache("Unified", 3, context.cpu.l3_bytes);
  json["caches"] = caches;
  json["load_avg"] = known_values(context.load_average, [](double load) { return std::optional(load); });
  json["library_build_type"] = build;
  json["epochbench_version"] = context.version;
  json["cpu_model"] = context.cpu.model;
  if (context.git_sha) json["git_sha"] = *context.git_sha;
  json["cpu_time"] = "not measured, a copy of real_time";
  return json;
}

Json entry(const RunGroup& group, std::size_t family, std::size_t repetition) {
  const Run& run = *group.runs[repetition];
  const bool failed = is_failure(run.status);
  Json json = {{"name", group.name},
               {"family_index", family},
               {"per_family_instance_index", 0},
               {"run_name", group.name},
               {"run_type", failed ? "aggregate" : "iteration"},
               {"repetitions", group.runs.size()},
               {"repetition_index", repetition},
               {"threads", run.device.threads.value_or(1)}};
  std::string label = has_projected_epochs(run) ? "epochs are projected" : "";
  if (is_loaded(run)) append(label, load_note(), "; ");
  if (!label.empty()) json["label"] = label;
  if (failed) {
    json.update({{"aggregate_name", "error"},
                 {"time_unit", ""},
                 {"error_occurred", true},
                 {"error_message", describe(run.status, run.message)}});
    return json;
  }
  const double microseconds = run.timing->steps_total_seconds / static_cast<double>(run.timing->steps()) * 1e6;
  json.update(
      {{"iterations", run.timing->steps()}, {"real_time", microseconds}, {"cpu_time", microseconds}, {"time_unit", "us"}});
  for (const Figure* figure : exported_figures())
    if (const auto value = figure->value(run)) json[figure == &kThroughput ? "items_per_second" : figure->key] = *value;
  return json;
}

}  // namespace

std::string google_benchmark_left_out(const Run& run) {
  if (is_failure(run.status)) return "";
  if (run.status != RunStatus::ok) return name(run.status);
  const bool timed = run.timing && !run.timing->step_seconds.empty() && std::isfinite(run.timing->steps_total_seconds);
  return timed ? "" : "ok, but its step times are not in the file";
}

std::string google_benchmark_text(const Result& result) {
  Json benchmarks = Json::array();
  const std::vector<RunGroup> groups = runs_by_name(result.runs);
  for (std::size_t family = 0; family < groups.size(); ++family)
    for (std::size_t repetition = 0; repetition < groups[family].runs.size(); ++repetition)
      benchmarks.push_back(entry(groups[family], family, repetition));
  return print_json({{"context", context_of(result.context)}, {"benchmarks", benchmarks}});
}

}  // namespace epochbench
