// MLflow's tracking store in a folder ("file store"): what `mlflow ui --backend-store-uri` opens, and `mlflow
// migrate-filestore` takes into a database.
//
//   EXPERIMENT/meta.yaml
//   EXPERIMENT/RUN/{params,tags}/KEY    the value
//   EXPERIMENT/RUN/metrics/KEY          a line a value: milliseconds, value, step
//   EXPERIMENT/RUN/artifacts/           none
//   EXPERIMENT/RUN/meta.yaml            last, since it is what makes a folder a run
//
// A run has the same folder whenever it is exported, so a second export adds nothing twice. MLflow 3.13 and later open such a
// store only where MLFLOW_ALLOW_FILE_STORE=true is set.
#include <cctype>
#include <cstdio>

#include "src/base/json.h"
#include "src/report/export/export_formats.h"
#include "src/report/export/export_mlflow.h"
#include "src/report/export/export_times.h"

namespace epochbench {
namespace {

// "epochbench" by places in the alphabet: MLflow's own ids of experiments are whole numbers of 18 digits too.
constexpr const char* kExperiment = "516150308020514030";

// MLflow's numbers for these values: RunStatus, SourceType.
constexpr int kFinished = 3, kFailed = 4, kKilled = 5, kLocal = 4;

// A JSON text is one of YAML, as long as its characters are printable.
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
  const int status = run.finished ? kFinished : run.interrupted ? kKilled : kFailed;
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
    if (files.empty() || files.back().path != path) files.push_back({path, ""});  // values of one key follow each other
    files.back().text += std::to_string(m.milliseconds) + " " + Json(m.value).dump() + " " + std::to_string(m.step) + "\n";
  }
  return files;
}

}  // namespace

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
