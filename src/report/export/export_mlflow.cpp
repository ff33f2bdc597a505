// MLflow: requests for a server, and a tracking store in a folder.
//
// Requests are bodies of POST api/2.0/mlflow/runs/log-batch (mlflow.org, REST API, "Log Batch"), one per line. A server knows
// only runs that it made, so run_id is to be replaced by that of runs/create; lines with one run_id belong together. Values
// that are not known have no parameter, tag or metric.
//
// A store ("file store") is what `mlflow ui --backend-store-uri` opens and `mlflow migrate-filestore` converts to a database.
//
//   EXPERIMENT/meta.yaml
//   EXPERIMENT/RUN/{params,tags}/KEY    the value
//   EXPERIMENT/RUN/metrics/KEY          one line per value: milliseconds, value, step
//   EXPERIMENT/RUN/artifacts/           none
//   EXPERIMENT/RUN/meta.yaml            last, since it is what makes a folder a run
//
// A run always has the same folder, so a second export does not add duplicates. MLflow 3.13 and later open such a store only if
// MLFLOW_ALLOW_FILE_STORE=true is set.
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>

#include "src/base/json.h"
#include "src/report/export/export_formats.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

constexpr std::size_t kMaxMetrics = 800;    // a request holds 1,000 metrics, parameters and tags together
constexpr std::size_t kLongestText = 4900;  // MLflow accepts tags of up to 5,000 characters

// 64-bit FNV-1a (Fowler, Noll and Vo).
std::uint64_t fnv1a(const std::string& text, std::uint64_t hash) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

std::string id_of(const Run& run, const Context& context) {
  const std::string what = context.date + '\n' + context.host_name.value_or("") + '\n' + context.git_sha.value_or("") + '\n' +
                           run.name + '\n' + std::to_string(run.repetition);
  constexpr std::uint64_t kOffsetBasis = 0xcbf29ce484222325;
  const std::uint64_t high = fnv1a(what, kOffsetBasis), low = fnv1a(what, ~kOffsetBasis);
  std::array<char, 33> text{};
  std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(high),
                static_cast<unsigned long long>(low));
  return text.data();
}

void add(std::vector<std::pair<std::string, std::string>>& list, const char* key, const std::string& value) {
  if (!value.empty()) list.emplace_back(key, one_line_of(value, kLongestText));
}

void add_texts(const Run& run, const Context& context, MlflowRun& to) {
  const Workload& w = run.workload;
  add(to.params, "model", w.model);
  add(to.params, "mode", name(w.mode));
  add(to.params, "batch", std::to_string(w.batch));
  add(to.params, "precision", name(run.precision));
  add(to.params, "dataset", w.dataset);
  add(to.params, "samples_per_epoch", std::to_string(w.samples_per_epoch));
  add(to.params, "optimizer", w.optimizer);
  add(to.params, "seed", std::to_string(w.seed));
  add(to.params, "parameters", std::to_string(w.parameters));
  add(to.params, "backend", name(run.device.backend));
  add(to.params, "device", run.device.name);
  if (run.device.threads) add(to.params, "threads", std::to_string(*run.device.threads));
  add(to.params, "isa", run.device.isa.value_or(""));
  add(to.params, "without", run.device.without.value_or(""));
  add(to.params, "repetition", std::to_string(run.repetition));
  add(to.tags, "mlflow.runName", to.name);
  add(to.tags, "mlflow.source.name", "epochbench");
  add(to.tags, "mlflow.source.type", "LOCAL");
  add(to.tags, "mlflow.source.git.commit", context.git_sha.value_or(""));
  add(to.tags, "epochbench.status", name(run.status));
  add(to.tags, "epochbench.message", run.message.value_or(""));
  add(to.tags, "epochbench.fingerprint", w.fingerprint);
  add(to.tags, "epochbench.version", context.version);
  add(to.tags, "epochbench.build_type", context.build_type);
  add(to.tags, "epochbench.compiler", context.compiler);
  add(to.tags, "epochbench.cpu", context.cpu.model);
  add(to.tags, "epochbench.host_name", context.host_name.value_or(""));
  if (run.timing) add(to.tags, "epochbench.epoch_kind", name(run.timing->epoch_kind));
  if (is_loaded(run)) add(to.tags, "epochbench.load", load_note());
}

void add_series(const Run& run, MlflowRun& to) {
  std::vector<std::int64_t> ends;  // of the timed steps
  std::size_t warmup = 0;
  const auto add_metric = [&](const char* key, double value, std::int64_t at, std::size_t step) {
    if (std::isfinite(value)) to.metrics.push_back({key, value, at, static_cast<std::int64_t>(step)});
  };
  if (run.timing) {
    warmup = static_cast<std::size_t>(std::max(0, run.timing->warmup_steps));
    double elapsed = std::isfinite(run.timing->compile_seconds) ? run.timing->compile_seconds : 0;
    for (const double seconds : run.timing->step_seconds) {
      elapsed += std::isfinite(seconds) ? seconds : 0;
      ends.push_back(to.start_milliseconds + to_milliseconds(elapsed));
      add_metric("step_seconds", seconds, ends.back(), warmup + ends.size() - 1);
    }
  }
  if (!run.quality) return;
  const auto end_of = [&](std::size_t step) {  // warm-up steps have no times
    if (step < warmup || ends.empty()) return to.start_milliseconds;
    return ends[std::min(step - warmup, ends.size() - 1)];
  };
  const std::vector<double>&loss = run.quality->loss, &history = run.quality->eval_history;
  for (std::size_t step = 0; step < loss.size(); ++step) add_metric("loss", loss[step], end_of(step), step);
  for (std::size_t i = 0; i < history.size(); ++i)
    add_metric("eval_history", history[i], end_of(warmup + ends.size() * (i + 1) / history.size() - 1), i + 1);
}

MlflowRun mlflow_run(const Run& run, const Context& context, std::int64_t start) {
  MlflowRun to;
  to.id = id_of(run, context);
  to.name = one_line_of(label_of(run), kLongestText);
  to.status = run.status;
  to.start_milliseconds = start;
  if (run.timing && std::isfinite(run.timing->wall_seconds))
    to.end_milliseconds = start + to_milliseconds(run.timing->wall_seconds);
  add_texts(run, context, to);
  if (to.status != RunStatus::ok) return to;
  for (const Figure* figure : exported_figures())
    if (const auto value = figure->value(run))
      to.metrics.push_back({figure->key, *value, to.end_milliseconds.value_or(start), 0});
  add_series(run, to);
  return to;
}

Json pairs_json(const std::vector<std::pair<std::string, std::string>>& pairs) {
  return json_list(pairs, [](const auto& pair) -> Json { return {{"key", pair.first}, {"value", pair.second}}; });
}

// "epochbench" by places in the alphabet: MLflow's own ids of experiments are whole numbers of 18 digits too.
constexpr const char* kExperiment = "516150308020514030";

// MLflow's numbers for these values: RunStatus, SourceType.
constexpr int kFinished = 3, kFailed = 4, kKilled = 5, kLocal = 4;

// A JSON text is valid YAML if its characters are printable.
std::string yaml(const std::string& text) {
  return Json(one_line_of(text, 4000)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string file_uri(const std::string& absolute_path) {
  std::string uri = "file://";
  for (const char c : absolute_path) {
    const auto byte = static_cast<unsigned char>(c);
    char code[4];
    std::snprintf(code, sizeof code, "%%%02X", byte);
    const bool plain = byte < 0x80 && (std::isalnum(byte) || c == '/' || c == '-' || c == '.' || c == '_' || c == '~');
    uri += plain ? std::string(1, c) : code;
  }
  return uri;
}

ExportFile experiment(const std::string& id, const std::string& name, const std::string& root, std::int64_t made) {
  const std::string text = "artifact_location: " + yaml(file_uri(root + "/" + id)) +
                           "\ncreation_time: " + std::to_string(made) + "\nexperiment_id: '" + id +
                           "'\nlast_update_time: " + std::to_string(made) + "\nlifecycle_stage: active\nname: " + name + "\n";
  return {id + "/meta.yaml", text, true};
}

std::string run_meta(const MlflowRun& run, const std::string& folder_uri) {
  const int status = run.status == RunStatus::ok ? kFinished : run.status == RunStatus::interrupted ? kKilled : kFailed;
  return "artifact_uri: " + yaml(folder_uri + "/artifacts") +
         "\ndeleted_time: null\nend_time: " + (run.end_milliseconds ? std::to_string(*run.end_milliseconds) : "null") +
         "\nentry_point_name: ''\nexperiment_id: '" + kExperiment + "'\nlifecycle_stage: active\nrun_id: '" + run.id +
         "'\nrun_name: " + yaml(run.name) + "\nrun_uuid: '" + run.id +
         "'\nsource_name: ''\nsource_type: " + std::to_string(kLocal) +
         "\nsource_version: ''\nstart_time: " + std::to_string(run.start_milliseconds) + "\nstatus: " + std::to_string(status) +
         "\ntags: []\nuser_id: ''\n";
}

// The lines of each metric, in the order of their first values.
std::vector<ExportFile> metric_files(const MlflowRun& run, const std::string& folder) {
  std::vector<ExportFile> files;
  for (const MlflowMetric& m : run.metrics) {
    const std::string path = folder + "metrics/" + m.key;
    if (files.empty() || files.back().path != path) files.push_back({path, ""});  // values of one key are consecutive
    files.back().text += std::to_string(m.milliseconds) + " " + Json(m.value).dump() + " " + std::to_string(m.step) + "\n";
  }
  return files;
}

}  // namespace

std::vector<MlflowRun> mlflow_runs(const Result& result) {
  require_distinct_runs(result);
  const std::vector<std::int64_t> starts = run_starts(result);
  std::vector<MlflowRun> runs;
  for (std::size_t i = 0; i < result.runs.size(); ++i) runs.push_back(mlflow_run(result.runs[i], result.context, starts[i]));
  return runs;
}

std::string mlflow_left_out(const Run& run) { return run.status == RunStatus::skipped ? name(run.status) : ""; }

std::string mlflow_text(const Result& result) {
  std::string text;
  for (const MlflowRun& run : mlflow_runs(result)) {
    Json request = {{"run_id", run.id}, {"params", pairs_json(run.params)}, {"tags", pairs_json(run.tags)}};
    std::size_t next = 0;
    do {
      Json metrics = Json::array();
      for (; next < run.metrics.size() && metrics.size() < kMaxMetrics; ++next) {
        const MlflowMetric& m = run.metrics[next];
        metrics.push_back({{"key", m.key}, {"value", m.value}, {"timestamp", m.milliseconds}, {"step", m.step}});
      }
      request["metrics"] = metrics;
      text += request.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
      request = {{"run_id", run.id}};
    } while (next < run.metrics.size());
  }
  return text;
}

std::vector<ExportFile> mlflow_folder(const Result& result, const std::string& root) {
  const std::vector<MlflowRun> runs = mlflow_runs(result);
  const std::int64_t made = milliseconds_since_1970(result.context.date).value_or(0);
  // MLflow expects its experiment 0 in every store.
  std::vector<ExportFile> files = {experiment("0", "Default", root, made), experiment(kExperiment, "epochbench", root, made)};
  for (const MlflowRun& run : runs) {
    const std::string folder = std::string(kExperiment) + "/" + run.id + "/";
    for (const char* needed : {"metrics/", "params/", "artifacts/"}) files.push_back({folder + needed, ""});
    for (const auto& [key, value] : run.params) files.push_back({folder + "params/" + key, value});
    for (const auto& [key, value] : run.tags) files.push_back({folder + "tags/" + key, value});
    for (ExportFile& file : metric_files(run, folder)) files.push_back(std::move(file));
    files.push_back({folder + "meta.yaml", run_meta(run, file_uri(root + "/" + kExperiment + "/" + run.id))});
  }
  return files;
}

}  // namespace epochbench
