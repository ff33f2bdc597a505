// MLPerf's log lines (mlcommons/logging): one JSON object per line after ":::MLLOG ", times in milliseconds since 1970.
//
// Keys are those of mlperf_logging.mllog.constants if one has the same meaning, otherwise those of the result file. It is not a
// submission: it says nothing about division, organization or compliance. Each run is a namespace, NAME#REPETITION, so that
// several can share a stream. A result has durations and one date, so times are constructed: runs are placed end to end from
// the date on, and events inside a run at the sum of the timed steps and evaluations so far. For trainings in whole epochs,
// run_start to run_stop is the time that MLPerf counts; for others it is everything except compilation, which is more. A run
// that misses its target (--until) or fails is "aborted"; one that failed has no durations, so it ends where it begins.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "src/analysis/time_to_quality.h"
#include "src/base/json.h"
#include "src/base/text.h"
#include "src/report/export/export_formats.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

constexpr std::string_view kFileHead = "result_", kFileTail = ".txt";  // as in MLPerf submissions

class Log {
 public:
  explicit Log(std::string name_space) : namespace_(std::move(name_space)) {}

  void at(std::int64_t milliseconds) { now_ = std::max(now_, milliseconds); }  // time does not go back
  void start(const char* key, const Json& metadata = Json::object()) { add("INTERVAL_START", key, nullptr, metadata); }
  void stop(const char* key, const Json& metadata = Json::object()) { add("INTERVAL_END", key, nullptr, metadata); }
  void point(const char* key, const Json& value, const Json& metadata = Json::object()) {
    add("POINT_IN_TIME", key, value, metadata);
  }
  // Writes nothing if the value is not known.
  void point_if_known(const char* key, double value, const Json& metadata = Json::object()) {
    if (std::isfinite(value)) point(key, value, metadata);
  }
  std::string take() { return std::move(text_); }

 private:
  void add(const char* event, const char* key, const Json& value, const Json& metadata) {
    const Json line = {{"namespace", namespace_}, {"time_ms", now_},     {"event_type", event}, {"key", key},
                       {"value", value},          {"metadata", metadata}};
    // In ASCII: MLPerf's parser reads Latin-1. It also looks for its mark anywhere in a line, so a text must not contain it.
    std::string json = line.dump(-1, ' ', true, Json::error_handler_t::replace);
    for (auto mark = json.find(kMark); mark != std::string::npos; mark = json.find(kMark)) json.replace(mark, 1, "\\u003a");
    text_ += std::string(kMark) + " " + json + "\n";
  }

  static constexpr const char* kMark = ":::MLLOG";
  std::string namespace_, text_;
  std::int64_t now_ = 0;
};

// "adamw lr=0.001 beta1=0.9" as MLPerf's keys for the optimizer; parameters without a key become metadata of opt_name.
void add_optimizer(const std::string& optimizer, Log& log) {
  static const std::map<std::string, std::map<std::string, const char*>> kKeys = {
      {"sgd",
       {{"lr", "opt_base_learning_rate"},
        {"lr_warmup", "opt_learning_rate_warmup_steps"},
        {"weight_decay", "opt_weight_decay"}}},
      {"adamw",
       {{"lr", "opt_base_learning_rate"},
        {"lr_warmup", "opt_learning_rate_warmup_steps"},
        {"beta1", "opt_adamw_beta_1"},
        {"beta2", "opt_adamw_beta_2"},
        {"epsilon", "opt_adamw_epsilon"},
        {"weight_decay", "opt_adamw_weight_decay"}}}};
  std::string kind;
  Json known = Json::object(), others = Json::object();
  for (const std::string& part : split(optimizer, ' ')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) {
      if (kind.empty()) kind = part;
      continue;
    }
    double value = 0;
    const char* const end = part.data() + part.size();
    const auto [stop, error] = std::from_chars(part.data() + equals + 1, end, value);
    if (error != std::errc() || stop != end || !std::isfinite(value)) continue;
    const std::string key = part.substr(0, equals);
    const auto keys = kKeys.find(kind);
    const bool has_key = keys != kKeys.end() && keys->second.contains(key);
    (has_key ? known[keys->second.at(key)] : others[key]) = value;
  }
  log.point("opt_name", kind, others);
  for (const auto& [key, value] : known.items()) log.point(key.c_str(), value);
}

void add_settings(const Run& run, Log& log) {
  const Workload& w = run.workload;
  log.point("seed", w.seed);
  log.point("global_batch_size", w.batch);
  log.point("train_samples", w.samples_per_epoch);
  if (w.tokens_per_sample) log.point("max_sequence_length", *w.tokens_per_sample);
  add_optimizer(w.optimizer, log);
}

void add_eval(EvalMetric metric, double value, const Json& metadata, Log& log) {
  log.point_if_known(metric == EvalMetric::accuracy ? "eval_accuracy" : "eval_loss", value, metadata);
}

// Whole epochs, if the run measured them, and the quality after each; otherwise the quality at the end.
void add_training(const Run& run, std::int64_t start, std::int64_t stop, Log& log) {
  const Workload& w = run.workload;
  const std::vector<double>& steps = run.timing->step_seconds;
  const std::size_t in_epoch =
      w.batch > 0 && w.samples_per_epoch >= w.batch ? static_cast<std::size_t>(w.samples_per_epoch / w.batch) : 0;
  const std::size_t evaluations = run.quality ? run.quality->eval_history.size() : 0;
  // A file keeps only the first steps; for later epochs it has the evaluations.
  std::size_t epochs = run.timing->epoch_kind == EpochKind::measured && in_epoch > 0 ? steps.size() / in_epoch : 0;
  if (epochs > 0 && run.timing->step_seconds_left_out) epochs = std::max(epochs, evaluations);
  const std::optional<EvalMetric> metric = member_of(run.quality, &Quality::eval_metric);
  const double each = evaluations > 0 ? run.timing->evaluation_seconds.value_or(0) / static_cast<double>(evaluations) : 0;
  std::size_t evaluated = 0;
  double elapsed = 0;
  for (std::size_t epoch = 0; epoch < epochs; ++epoch) {
    const Json number = {{"epoch_num", epoch + 1}};
    log.start("epoch_start", number);
    if ((epoch + 1) * in_epoch > steps.size())
      elapsed = static_cast<double>(epoch + 1) * run.timing->epoch_seconds;
    else
      for (std::size_t i = epoch * in_epoch; i < (epoch + 1) * in_epoch; ++i) elapsed += std::isfinite(steps[i]) ? steps[i] : 0;
    log.at(start + to_milliseconds(elapsed + static_cast<double>(evaluated) * each));
    log.stop("epoch_stop", number);
    if (!metric || epoch >= evaluations) continue;
    ++evaluated;
    if (each > 0) log.start("eval_start", number);
    log.at(start + to_milliseconds(elapsed + static_cast<double>(evaluated) * each));
    add_eval(*metric, run.quality->eval_history[epoch], number, log);
    if (each > 0) log.stop("eval_stop", number);
  }
  log.at(stop);
  if (evaluated == 0 && metric && run.quality->eval_value) add_eval(*metric, *run.quality->eval_value, Json::object(), log);
  log.point("trained_samples", static_cast<double>(run.timing->steps()) * static_cast<double>(w.batch));
  if (const auto rate = kThroughput.value(run)) log.point(kThroughput.key, *rate);
}

// In milliseconds since 1970. Precondition: the run's times are known.
std::int64_t trained_from(const Run& run, std::int64_t start) {
  const std::optional<double> counted = training_seconds(run);
  if (!counted) return start + to_milliseconds(run.timing->compile_seconds);
  return std::max(start, start + to_milliseconds(run.timing->wall_seconds) - to_milliseconds(*counted));
}

std::string log_of(const Run& run, const Context& context, std::int64_t start) {
  Log log(run.name + "#" + std::to_string(run.repetition));
  log.at(start);
  log.start("init_start", {{"program", "epochbench " + context.version},
                           {"model", run.workload.model},
                           {"device", run.device.name},
                           {"precision", name(run.precision)},
                           {"dataset", run.workload.dataset},
                           {"moments", "placed by durations"}});
  add_settings(run, log);
  const bool failed = is_failure(run.status);
  const std::int64_t from = failed ? start : trained_from(run, start);
  log.at(from);
  log.stop("init_stop");
  log.start("run_start");
  if (!failed) add_training(run, from, start + to_milliseconds(run.timing->wall_seconds), log);
  const std::string target = target_of(run);
  Json end = {{"status", !failed && (target.empty() || reached_target(run)) ? "success" : "aborted"}};
  if (!target.empty()) end["target"] = target;
  if (failed) end["message"] = describe(run.status, run.message);
  if (is_loaded(run)) end["load"] = load_note();
  log.stop("run_stop", end);
  return log.take();
}

}  // namespace

std::string mllog_left_out(const Run& run) {
  if (run.status != RunStatus::ok && !is_failure(run.status)) return name(run.status);
  if (run.workload.mode != Mode::train) return "no training, which this format is about";
  if (is_failure(run.status)) return "";
  return run.timing && std::isfinite(run.timing->wall_seconds) ? "" : "ok, but its times are not known";
}

std::string mllog_text(const Result& result) {
  std::string text;
  for (const ExportFile& file : mllog_folder(result, "")) text += file.text;
  return text;
}

std::vector<ExportFile> mllog_folder(const Result& result, const std::string&) {
  const std::vector<std::int64_t> starts = run_starts(result);
  std::vector<ExportFile> files;
  for (std::size_t i = 0; i < result.runs.size(); ++i)
    files.push_back({std::string(kFileHead) + std::to_string(i) + std::string(kFileTail),
                     log_of(result.runs[i], result.context, starts[i])});
  return files;
}

bool is_mllog_file(std::string_view name) {
  if (!name.starts_with(kFileHead) || !name.ends_with(kFileTail)) return false;
  name.remove_prefix(kFileHead.size());
  name.remove_suffix(kFileTail.size());
  return !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace epochbench
