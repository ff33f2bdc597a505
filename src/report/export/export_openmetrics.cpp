// OpenMetrics text, version 1.0, that is also valid in Prometheus's older text format: Prometheus scrapes it, and
// node_exporter's textfile collector, which knows only the older format, reads it from a file.
//
// Therefore every family is a gauge: the older format has no types info and stateset, and its readers refuse them; # UNIT and #
// EOF are comments there. Samples have no timestamps (a file collector refuses them) and are labeled by run and repetition;
// epochbench_run_info holds the rest of a run's identity, for joins. Every run has a state, so failed runs are included;
// epochbench_run_loaded is the mark of load in tables; unknown values have no sample.
#include <cctype>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "src/base/json.h"
#include "src/base/lookup.h"
#include "src/base/text.h"
#include "src/report/export/export_formats.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

// The format escapes a line feed, a quotation mark and a backslash; it has no way to write other control characters.
std::string escaped(std::string text) {
  replace_all(text, "\\", "\\\\");
  replace_all(text, "\"", "\\\"");
  replace_all(text, "\n", "\\n");
  return one_line(std::move(text));
}

std::string head(const std::string& family, const std::string& unit, const std::string& help) {
  return "# TYPE " + family + " gauge\n" + (unit.empty() ? "" : "# UNIT " + family + " " + unit + "\n") + "# HELP " + family +
         " " + help + "\n";
}

std::string sample(const std::string& name, const Labels& labels, const std::string& value) {
  const auto text_of = [](const auto& label) { return label.first + "=\"" + escaped(label.second) + "\""; };
  return name + (labels.empty() ? "" : "{" + joined(labels, text_of, ",") + "}") + " " + value + "\n";
}

Labels labels_of(const Run& run) { return {{"run", run.name}, {"repetition", std::to_string(run.repetition)}}; }

std::string states(const Result& result) {
  const std::string family = "epochbench_run_status";
  std::string text = head(family, "", "How a run ended: 1 for its state, 0 for the others.");
  for (const Run& run : result.runs)
    for (const RunStatus status : {RunStatus::ok, RunStatus::failed, RunStatus::skipped, RunStatus::out_of_memory,
                                   RunStatus::diverged, RunStatus::interrupted, RunStatus::contradicts_itself}) {
      Labels labels = labels_of(run);
      labels.emplace_back(family, name(status));
      text += sample(family, labels, run.status == status ? "1" : "0");
    }
  return text;
}

// One value per run that knows it; nothing if none does.
std::string gauge(const Result& result, const std::string& family, const std::string& unit, const std::string& help,
                  const std::function<std::optional<double>(const Run&)>& value_of) {
  std::string samples;
  for (const Run& run : result.runs)
    if (const auto value = value_of(run)) samples += sample(family, labels_of(run), Json(*value).dump());
  return samples.empty() ? "" : head(family, unit, help) + samples;
}

std::string loads(const Result& result) {
  const auto loaded = [](const Run& run) {
    const auto cores = member_of(run.interference, &Interference::foreign_cpu_cores);
    return cores ? std::optional(is_loaded(cores) ? 1.0 : 0.0) : std::nullopt;
  };
  return gauge(result, "epochbench_run_loaded", "", load_note() + ".", loaded);
}

std::string run_infos(const Result& result) {
  const std::string family = "epochbench_run_info";
  std::string text = head(family, "", "What a run is of.");
  for (const Run& run : result.runs) {
    const Workload& w = run.workload;
    Labels labels = labels_of(run);
    labels.insert(labels.end(), {{"model", w.model},
                                 {"mode", name(w.mode)},
                                 {"batch", std::to_string(w.batch)},
                                 {"dataset", w.dataset},
                                 {"precision", name(run.precision)},
                                 {"backend", name(run.device.backend)},
                                 {"device", run.device.name},
                                 {"fingerprint", w.fingerprint}});
    if (run.device.threads) labels.emplace_back("threads", std::to_string(*run.device.threads));
    if (run.timing) labels.emplace_back("epoch_kind", name(run.timing->epoch_kind));
    text += sample(family, labels, "1");
  }
  return text;
}

std::string result_info(const Context& context) {
  Labels labels = {{"version", context.version},
                   {"build_type", context.build_type},
                   {"compiler", context.compiler},
                   {"cpu", context.cpu.model}};
  if (context.git_sha) labels.emplace_back("git_sha", *context.git_sha);
  if (context.host_name) labels.emplace_back("host_name", *context.host_name);
  const std::string family = "epochbench_result_info";
  const std::string text = head(family, "", "What measured, and where.") + sample(family, labels, "1");
  const auto date = milliseconds_since_1970(context.date);
  if (!date) return text;
  const std::string began = "epochbench_result_timestamp_seconds";
  return text + head(began, "seconds", "When the measurement began, since 1970.") +
         sample(began, {}, Json(static_cast<double>(*date) / 1000).dump());
}

std::string gauge(const Result& result, const Figure& figure) {
  std::string help = figure.title;
  help[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(help[0])));
  const auto value_of = [&](const Run& run) { return run.status == RunStatus::ok ? figure.value(run) : std::nullopt; };
  return gauge(result, std::string("epochbench_") + figure.metric, figure.unit.name, help + ".", value_of);
}

}  // namespace

std::string openmetrics_text(const Result& result) {
  require_distinct_runs(result);
  std::string text = result_info(result.context) + run_infos(result) + states(result) + loads(result);
  for (const Figure* figure : exported_figures()) text += gauge(result, *figure);
  return text + "# EOF\n";
}

}  // namespace epochbench
