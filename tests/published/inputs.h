// Small made files in the forms of DAWNBench and MLPerf Training.
#pragma once

#include <string>
#include <vector>

#include "src/base/errors.h"
#include "src/base/json.h"
#include "src/published/import.h"

namespace epochbench::published_inputs {

inline Json dawnbench_entry() {
  return {{"version", "v1.0"},
          {"author", "A Lab"},
          {"framework", "Tool 1.2"},
          {"model", "ResNet 8"},
          {"hardware", "2 K80 / 30 GB / 8 CPU (A Cloud)"},
          {"costPerHour", 2.5},
          {"timestamp", "2017-10-11"},
          {"misc", {{"batchSize", 64}}}};
}

inline NamedText json_file(const std::string& path, const Json& document) { return {path, document.dump()}; }

constexpr const char* kEpochs =
    "epoch\thours\ttop1Accuracy\n"
    "1\t0.5\t90\n"
    "2\t1.0\t94.5\n"
    "3\t1.5\t94.25\n";

inline std::vector<NamedText> dawnbench_files() {
  return {json_file("train/a.json", dawnbench_entry()), {"train/a.tsv", kEpochs}};
}

inline Json mlperf_system() {
  return {{"division", "closed"},
          {"submitter", "Maker"},
          {"status", "onprem"},
          {"system_name", "box_n2"},
          {"number_of_nodes", "2"},
          {"host_processor_model_name", "A CPU"},
          {"host_processors_per_node", 2},
          {"host_processor_core_count", "28"},
          {"accelerators_per_node", "8"},
          {"accelerator_model_name", "A GPU"},
          {"framework", "Tool 2"}};
}

// A run of ResNet-50 over 35 epochs of 1000 samples, or of BERT over 2000 samples.
inline std::string mlperf_log(double seconds, const std::string& benchmark = "resnet", const std::string& status = "success") {
  constexpr std::int64_t kStart = 1'600'000'000'000;
  std::string text = "text that other programs write\n";
  const auto add = [&](const std::string& key, const Json& value, std::int64_t time, const Json& metadata) {
    text += "[3] :::MLLOG " +
            Json{{"namespace", ""}, {"time_ms", time}, {"event_type", "POINT_IN_TIME"},
                 {"key", key},      {"value", value},  {"metadata", metadata}}
                .dump() +
            "\n";
  };
  const std::int64_t stop = kStart + static_cast<std::int64_t>(seconds * 1000);
  const bool resnet = benchmark == "resnet";
  add("submission_benchmark", benchmark, kStart, Json::object());
  add("submission_org", "Maker", kStart, Json::object());
  add("submission_division", "closed", kStart, Json::object());
  add("global_batch_size", 512, kStart, Json::object());
  add("run_start", nullptr, kStart, Json::object());
  add("block_start", nullptr, kStart, {{"first_epoch_num", 1}});
  add("eval_accuracy", 0.5, kStart, {{"epoch_num", resnet ? 4 : 900}});
  add("eval_accuracy", 0.77, stop, {{"epoch_num", resnet ? 35 : 2000}});
  add("train_samples", resnet ? 1000 : 2000, stop, Json::object());
  add("run_stop", nullptr, stop, {{"status", status}});
  return text;
}

inline std::vector<NamedText> mlperf_files(const std::vector<double>& seconds, const std::string& benchmark = "resnet") {
  std::vector<NamedText> files{json_file("systems/box.json", mlperf_system())};
  for (std::size_t i = 0; i < seconds.size(); ++i)
    files.push_back({"results/box/" + benchmark + "/result_" + std::to_string(i) + ".txt", mlperf_log(seconds[i], benchmark)});
  return files;
}

// The message of the FormatError that `read` ends with.
template <class Read>
std::string refusal(const Read& read) {
  try {
    read();
  } catch (const FormatError& error) {
    return error.what();
  }
  return "it was read";
}

}  // namespace epochbench::published_inputs
