// MLPerf Training: a result is a system's description, the log of each run, and where there is one the scaling factor.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>

#include "src/base/json.h"
#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/published/import.h"
#include "src/published/mlperf_log.h"
#include "src/published/parts.h"

namespace epochbench {
namespace {

constexpr std::array kRounds{"v0.7", "v1.0", "v1.1", "v2.0", "v2.1", "v3.0", "v3.1", "v4.0", "v4.1", "v5.0"};
constexpr const char* kUnverified = "Result not verified by MLCommons Association.";
constexpr const char* kTerms =
    " Compare a result only with MLPerf® results of the same benchmark and a compatible version. The MLPerf name and logo are "
    "registered and unregistered trademarks of MLCommons Association in the United States and other countries. All rights "
    "reserved. Unauthorized use strictly prohibited. See www.mlcommons.org for more information.";

struct NamedLog {
  std::string path;
  MlperfLog log;
  bool succeeded() const { return log.status == "success"; }
  double seconds() const { return static_cast<double>(log.stop_ms - log.start_ms) / 1000; }
};

// "v3.0" of "mlcommons/training_results_v3.0". Errors: FormatError for a round that is not known.
std::optional<std::string> round_of(const PublishedOrigin& origin) {
  constexpr std::string_view kName = "training_results_";
  const auto begin = origin.repository ? origin.repository->find(kName) : std::string::npos;
  if (begin == std::string::npos) return std::nullopt;
  const std::string round = origin.repository->substr(begin + kName.size());
  if (!contains(kRounds, round))
    throw FormatError("--repository: the round '" + round.substr(0, 20) + "' of MLPerf Training is not known; " +
                      kRounds.front() + " to " + kRounds.back() + " are read");
  return round;
}

// A count that the description has as a number or as text; empty where it is neither.
std::optional<std::int64_t> count_in(const JsonFields& from, const char* key) {
  const Json* value = from.find(key);
  if (!value) return std::nullopt;
  if (value->is_string()) return whole_number(std::string(trimmed(value->get<std::string>())), kMaxDevices);
  if (!value->is_number_integer() || *value < 0 || *value > kMaxDevices) return std::nullopt;
  return value->get<std::int64_t>();
}

std::optional<std::int64_t> above_zero(std::optional<std::int64_t> count) { return count == 0 ? std::nullopt : count; }

PublishedMachine machine_of(const JsonFields& from) {
  PublishedMachine machine;
  machine.description = from.text("system_name");
  machine.nodes = above_zero(count_in(from, "number_of_nodes"));
  machine.processor = text_if_any(from, "host_processor_model_name");
  machine.processors_per_node = above_zero(count_in(from, "host_processors_per_node"));
  machine.cores_per_processor = above_zero(count_in(from, "host_processor_core_count"));
  machine.accelerator = text_if_any(from, "accelerator_model_name");
  machine.accelerators_per_node = count_in(from, "accelerators_per_node");
  if (machine.accelerators_per_node == 0) machine.accelerator.reset();  // "N/A"
  return machine;
}

// "8 x NVIDIA H100-SXM5-80GB": what computes, and how many of it; empty where the description does not say it.
std::string chips_text(const PublishedMachine& machine) {
  const bool on_accelerators = machine.accelerators_per_node.value_or(0) > 0;
  const auto& per_node = on_accelerators ? machine.accelerators_per_node : machine.processors_per_node;
  const auto& chip = on_accelerators ? machine.accelerator : machine.processor;
  if (!machine.nodes || !per_node || !chip) return "";
  return ", " + std::to_string(*machine.nodes * *per_node) + " x " + *chip;
}

// Templates of v0.7 misspelled the key; a description without either leaves the division to the logs.
std::string division_in(const JsonFields& system, const MlperfLog& log) {
  for (const char* key : {"division", "divison"})
    if (const auto division = text_if_any(system, key)) return *division;
  return log.division;
}

std::string lowercase(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c; });
  return text;
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(0, slash);
}

// Whether a round's repository has the log at the place of that system: SUBMITTER/results/NAME/BENCHMARK/result_0.txt and
// SUBMITTER/systems/NAME.json.
bool lies_beside(const std::string& log, const std::string& system) {
  constexpr std::string_view kFolder = "systems/", kEnd = ".json";
  const std::size_t at = system.rfind(kFolder);
  if (at == std::string::npos || (at > 0 && system[at - 1] != '/') || !system.ends_with(kEnd)) return false;
  const std::size_t begin = at + kFolder.size();
  return log.starts_with(system.substr(0, at) + "results/" + system.substr(begin, system.size() - kEnd.size() - begin) + "/");
}

// Sets the batch, and says in notes where the logs disagree with each other or with the description of their system, at
// `system`.
void check_logs(PublishedEntry& entry, const std::vector<NamedLog>& logs, const std::string& system) {
  const MlperfLog& first = logs.front().log;
  entry.batch = first.batch;
  std::string others;  // whom the logs name
  for (const auto& [path, log] : logs) {
    const bool one_folder = folder_of(path) == folder_of(logs.front().path);
    if (log.benchmark != first.benchmark || (log.batch != first.batch && !one_folder))
      throw FormatError(path + ": benchmark or batch differ from those of " + logs.front().path +
                        "; name the logs of one result, and import each on its own");
    if (log.batch != first.batch) entry.batch.reset();
    if (lowercase(log.submitter) == lowercase(entry.submitter) && lowercase(log.division) == lowercase(*entry.division))
      continue;
    const std::string named = log.submitter.substr(0, 40) + ", " + log.division.substr(0, 40);
    if (!lies_beside(path, system))
      throw FormatError(path + ": of " + named + ", and the system's description is of " + entry.submitter.substr(0, 40) +
                        ", " + entry.division->substr(0, 40) + "; name the description of the system that ran it");
    others = named;
  }
  if (first.batch && !entry.batch) entry.notes.emplace_back("no batch: the runs had different ones");
  if (!others.empty())
    entry.notes.push_back("logs name " + others + " as the submitter and division; the description of the system counts");
}

// By MLPerf's rules: the mean of the runs without the fastest and the slowest, where a failed run is the slowest, times the
// scaling factor.
void add_time_to_train(PublishedEntry& entry, const std::vector<NamedLog>& logs) {
  const std::size_t wanted = entry.benchmark == "bert" ? 10 : 5;
  std::vector<double> seconds;
  for (const NamedLog& each : logs)
    seconds.push_back(each.succeeded() ? each.seconds() : std::numeric_limits<double>::infinity());
  std::ranges::sort(seconds);
  if (seconds.size() != wanted) {
    entry.notes.push_back("no time to train: " + counted(logs.size(), "run", "runs") +
                          ", and the rules of MLPerf® Training ask for " + std::to_string(wanted));
    return;
  }
  const double sum = std::accumulate(seconds.begin() + 1, seconds.end() - 1, 0.0);
  if (!std::isfinite(sum)) {
    entry.notes.emplace_back("no time to train: more than one run failed");
    return;
  }
  entry.seconds_to_target = rounded(sum / static_cast<double>(wanted - 2) * entry.scaling_factor.value_or(1));
  entry.notes.push_back(
      std::string("seconds_to_target is the mean of the runs without the fastest and the slowest, a failed run "
                  "being the slowest") +
      (entry.scaling_factor ? ", times the scaling factor. " : ". ") + kUnverified);
}

void add_rates(PublishedEntry& entry, const std::vector<NamedLog>& logs) {
  double seconds = 0, samples = 0, epochs = 0;
  std::size_t runs = 0;
  for (const NamedLog& each : logs) {
    if (!each.succeeded() || !each.log.samples) continue;
    ++runs;
    seconds += each.seconds();
    samples += static_cast<double>(*each.log.samples);
    epochs += static_cast<double>(each.log.epochs.value_or(0));
  }
  if (runs == 0) {
    entry.notes.emplace_back("no throughput: no successful run says how many samples it trained");
    return;
  }
  if (epochs > 0) {
    entry.epochs = rounded(epochs / static_cast<double>(runs));
    entry.seconds_per_epoch = rounded(seconds / epochs);
  }
  entry.throughput = {rounded(samples / seconds), "training samples of the " + std::to_string(runs) +
                                                      " successful runs / their time from run_start to run_stop, evaluation "
                                                      "included and without the scaling factor. " +
                                                      kUnverified};
}

std::optional<PublishedTarget> target_of(const PublishedEntry& entry) {
  if (entry.benchmark == "resnet") return PublishedTarget{"top1_accuracy", 0.759};
  if (!entry.version) return std::nullopt;
  return PublishedTarget{"masked_lm_accuracy", entry.version == "v0.7" ? 0.712 : 0.72};
}

std::string day_of(std::int64_t milliseconds) {
  const auto day = std::chrono::floor<std::chrono::days>(
      std::chrono::sys_time<std::chrono::milliseconds>(std::chrono::milliseconds(milliseconds)));
  const std::chrono::year_month_day date(day);
  char text[40];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()));
  return text;
}

std::string citation_of(const PublishedEntry& entry, const PublishedOrigin& origin) {
  std::string division = *entry.division;
  if (!division.empty() && division.front() >= 'a' && division.front() <= 'z') division.front() -= 'a' - 'A';
  return "MLPerf® Training " + (entry.version ? *entry.version + " " : "") + division + " " + entry.benchmark + ": " +
         entry.submitter + ", " + *entry.machine.description + chips_text(entry.machine) +
         (entry.result_id ? ", entry " + *entry.result_id : ", result ID not given") + retrieval(origin);
}

// The files of a result, by what they are.
struct ResultFiles {
  std::optional<std::pair<std::string, Json>> system;
  std::optional<std::pair<std::string, double>> scaling;
  std::vector<NamedLog> logs;
};

void take(ResultFiles& files, const NamedText& file) {
  constexpr double kMaxScaling = 100;
  if (!file.path.ends_with(".json")) {
    files.logs.push_back({file.path, parse_mlperf_log(file)});
    return;
  }
  Json document = parse_json(file.text, file.path, RepeatedKeys::last_counts);
  const JsonFields from(document, file.path);
  const bool is_scaling = from.find("scaling_factor");
  if (!is_scaling && !from.find("system_name"))
    throw FormatError(file.path +
                      ": neither a system's description, with system_name, nor a scaling factor, with scaling_factor, but " +
                      likely_kind(document));
  if (is_scaling ? files.scaling.has_value() : files.system.has_value())
    throw FormatError(file.path + ": a second " + (is_scaling ? "scaling factor" : "system") +
                      "; name the files of one result");
  if (is_scaling)
    files.scaling = {file.path, *positive_number(from, "scaling_factor", kMaxScaling)};
  else
    files.system = {file.path, std::move(document)};
}

}  // namespace

PublishedDocument import_mlperf(const std::vector<NamedText>& files, const PublishedOrigin& origin,
                                const std::optional<std::string>& result_id) {
  ResultFiles found;
  for (const NamedText& file : files) take(found, file);
  if (!found.system) throw FormatError("no description of the system; name the *.json of the folder systems, too");
  if (found.logs.empty())
    throw FormatError(found.system->first + ": a system without logs; name the result_*.txt of its runs, too");
  const JsonFields system(found.system->second, found.system->first);

  PublishedEntry entry;
  entry.version = round_of(origin);
  entry.submitter = system.text("submitter");
  entry.division = division_in(system, found.logs.front().log);
  check_logs(entry, found.logs, found.system->first);
  const MlperfLog& first = found.logs.front().log;
  if (result_id && entry.version && !result_id->starts_with(entry.version->substr(1) + "-"))
    throw FormatError("--result-id: '" + result_id->substr(0, 40) + "' is not of " + *entry.version + ", whose results are " +
                      entry.version->substr(1) + "-NUMBER");
  entry.result_id = result_id;
  entry.name = folder_of(found.logs.front().path);
  entry.benchmark = first.benchmark;
  entry.category = text_if_any(system, "status");
  entry.model = first.benchmark == "bert" ? "BERT-large" : "ResNet-50 v1.5";
  entry.data = first.benchmark == "bert" ? "Wikipedia 2020/01/01" : "ImageNet";
  entry.framework = text_if_any(system, "framework");
  entry.machine = machine_of(system);
  entry.date = day_of(first.start_ms);
  entry.target = target_of(entry);
  entry.files.push_back(found.system->first);
  if (found.scaling) {
    entry.scaling_factor = found.scaling->second;
    entry.files.push_back(found.scaling->first);
  }
  for (const NamedLog& each : found.logs) {
    entry.files.push_back(each.path);
    entry.runs.push_back({each.path, each.log.status, each.seconds(), each.log.samples});
  }
  entry.link = link_of(origin, found.logs.front().path);
  entry.citation = citation_of(entry, origin);
  add_time_to_train(entry, found.logs);
  add_rates(entry, found.logs);

  PublishedDocument document;
  document.source = PublishedSource::mlperf;
  document.origin = origin;
  document.notice = std::string("Of figures that are derived: ") + kUnverified + kTerms;
  document.entries.push_back(std::move(entry));
  return document;
}

}  // namespace epochbench
