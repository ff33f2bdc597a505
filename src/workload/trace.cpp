#include "src/workload/trace.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <utility>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "src/base/errors.h"
#include "src/data/byte_source.h"
#include "src/data/safetensors.h"
#include "src/workload/weights.h"

namespace epochbench {
namespace {

using nlohmann::ordered_json;

ordered_json numbers_of(const OptimizerSpec& optimizer) {
  switch (optimizer.kind) {
    case OptimizerSpec::Kind::sgd:
      return {{"name", "sgd"}, {"momentum", optimizer.momentum}, {"weight_decay", optimizer.weight_decay}};
    case OptimizerSpec::Kind::adamw:
      return {{"name", "adamw"},
              {"beta1", optimizer.beta1},
              {"beta2", optimizer.beta2},
              {"epsilon", optimizer.epsilon},
              {"weight_decay", optimizer.weight_decay}};
  }
  return nullptr;
}
ordered_json to_json(const OptimizerSpec& optimizer) {
  ordered_json json = numbers_of(optimizer);
  if (optimizer.clip_norm > 0) json["clip_norm"] = optimizer.clip_norm;
  return json;
}

// The number with the fewest digits that reads back as this one: 0.003 instead of 0.003000000026077032.
double decimal(float value) {
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  double number = 0;
  std::from_chars(text, end, number);
  return number;
}

// [batch, height, width, channels] -> f32 [batch, channels, height, width], for images; other inputs as they are. Covers all
// parts of the batch.
TensorDesc file_desc(const Value& input, const SampleSpec& sample, std::int64_t parts) {
  TensorDesc desc = input.desc;
  desc.shape[0] *= parts;
  if (desc.shape.size() == 4) desc = {{desc.shape[0], desc.shape[3], desc.shape[1], desc.shape[2]}, DType::f32};
  if (input.name == "labels" && sample.text() && sample.text_classes == 0)
    desc.shape = {desc.elements() / sample.labels(), sample.labels()};
  return desc;
}

// The images of a batch. `table` [channels,256]: the values of bytes, if the images are staged as bytes.
std::vector<float> image_floats(std::span<const std::byte> staged, const TensorDesc& desc, const std::vector<float>& table) {
  std::vector<float> values(static_cast<std::size_t>(desc.elements()));
  if (desc.dtype == DType::f32) {
    std::memcpy(values.data(), staged.data(), staged.size());
    return values;
  }
  const std::size_t channels = table.size() / 256;
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = table[i % channels * 256 + std::to_integer<std::size_t>(staged[i])];
  return values;
}

}  // namespace

void check_trace_folder(const std::filesystem::path& folder) {
  const std::string name = "trace folder " + in_quotes(folder.string());
  std::error_code error, ignored;
  const bool made = std::filesystem::create_directory(folder, error);
  if (made) std::filesystem::remove(folder, error);
  if (!made && !std::filesystem::is_directory(folder, ignored))
    throw DataError(name + " cannot be made" + (error ? " (" + error.message() + ")" : "") +
                    ": name another, in a folder that is there (--trace)");
  if (made) return;
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    throw DataError(name + " cannot be written (" + error_text(errno) + "): name another (--trace)");
  const bool empty = std::filesystem::is_empty(folder, error);
  if (error || !empty)
    throw DataError(name + (error ? " cannot be read (" + error.message() + ")" : " has files in it already") +
                    ": name an empty or a new one (--trace)");
}

TraceWriter::TraceWriter(std::filesystem::path folder, const WorkloadSpec& workload, const Program& program,
                         const std::string& precision, Executable& executable)
    : folder_(std::move(folder)),
      workload_(workload),
      precision_(precision),
      variables_(program.variables),
      inputs_(program.entry(Entry::train)->graph.inputs),
      executable_(executable) {
  for (const Variable& variable : variables_)
    if (variable.initializer.kind == Initializer::Kind::values) pixel_values_ = variable.initializer.values;
  check_trace_folder(folder_);
  std::filesystem::create_directory(folder_);
  write_weights(executable_, variables_, folder_ / "initial.safetensors");
}

void TraceWriter::step(InputSlot slot, double loss) {
  const SampleSpec sample = workload_.model.family->sample(workload_.config);
  std::vector<std::pair<std::string, TensorDesc>> tensors;
  for (const Value& input : inputs_) tensors.push_back({input.name, file_desc(input, sample, workload_.accumulate)});
  tensors.push_back({"loss", {{}, DType::f32}});
  char name[40];
  std::snprintf(name, sizeof name, "step-%06lld.safetensors", static_cast<long long>(steps_));
  SafetensorsWriter writer(folder_ / name, tensors);
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    std::vector<std::byte> staged;
    for (int part = 0; part < workload_.accumulate; ++part)
      std::ranges::copy(executable_.stage(slot, static_cast<int>(i), part), std::back_inserter(staged));
    TensorDesc desc = inputs_[i].desc;
    if (desc.shape.size() != 4) {
      writer.write(staged);
      continue;
    }
    desc.shape[0] *= workload_.accumulate;
    const std::vector<float> images =
        to_file_order({desc.shape, tensors[i].second.shape}, image_floats(staged, desc, pixel_values_));
    writer.write(std::as_bytes(std::span(images)));
  }
  const auto scalar = static_cast<float>(loss);
  writer.write(std::as_bytes(std::span(&scalar, 1)));
  writer.finish();
  float rate = 0;
  executable_.read("learning_rate", {&rate, 1});
  learning_rates_.push_back(decimal(rate));
  ++steps_;
}

void TraceWriter::finish() {
  write_weights(executable_, variables_, folder_ / "final.safetensors");
  ordered_json trace{{"model", workload_.model.name},
                     {"precision", precision_},
                     {"batch", workload_.config.batch},
                     {"steps", steps_},
                     {"learning_rate", learning_rates_},
                     {"optimizer", to_json(workload_.optimizer)},
                     {"label_smoothing", workload_.label_smoothing}};
  if (workload_.mixup > 0) trace["mixup"] = workload_.mixup;
  if (workload_.accumulate > 1) trace["accumulate"] = workload_.accumulate;
  TemporaryFile file((folder_ / "trace.json").string());
  if (!file.write(trace.dump(1) + "\n") || !file.move_to_place())
    throw DataError("file " + in_quotes((folder_ / "trace.json").string()) + " cannot be written (" + error_text(file.error()) +
                    "): make room");
}

}  // namespace epochbench
