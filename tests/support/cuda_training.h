// Trainings of a few steps through the CUDA backend, on a fake device and with fake libraries, or through another backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "src/backend/cuda/cuda_backend.h"
#include "src/workload/workload.h"
#include "tests/support/cuda_fake_device.h"
#include "tests/support/cuda_fake_libraries.h"
#include "tests/support/parts_only.h"

namespace epochbench::test {

inline const FakeLibrariesOptions kNoPlans{.convolution = false, .attention = false, .bias_gradient = false};

struct Training {
  std::string model;
  std::int64_t batch;
  Precision precision = Precision::fp32;
  double dropout = -1;
  std::optional<double> learning_rate = {};  // empty: the model's own
};

inline void PrintTo(const Training& training, std::ostream* out) { *out << training.model << " batch " << training.batch; }

inline WorkloadSpec workload(const Training& training) {
  CaseSpec spec;
  spec.model = find_model(training.model);
  spec.batch = training.batch;
  spec.learning_rate = training.learning_rate;
  WorkloadSpec workload = workload_spec(spec);
  workload.config.dropout = training.dropout;
  return workload;
}

struct Outcome {
  std::vector<double> losses;  // of training steps, then of the evaluation
  double correct = 0;
  std::map<std::string, std::vector<float>> variables;
  bool library_masks = false;
};

inline constexpr int kSteps = 3;

// Three steps with as many batches in flight, then an evaluation.
inline Outcome train(const Training& training, const Backend& backend) {
  const WorkloadSpec spec = workload(training);
  const Program program = make_program(spec, backend, {Entry::train, Entry::evaluate}, training.precision);
  const auto data = open_dataset("synthetic", spec.model.family->sample(spec.config), 1000, 0);
  const auto executable = backend.compile(program);
  initialize(*executable, program, 0);
  prepare(*executable, program);
  const auto& graph_inputs = program.entry(Entry::train)->graph.inputs;
  for (int i = 0; i <= kSteps; ++i) {
    std::vector<std::span<std::byte>> inputs;
    for (std::size_t input = 0; input < graph_inputs.size(); ++input)
      inputs.push_back(executable->stage(i, static_cast<int>(input)));
    for (std::int64_t row = 0; row < training.batch; ++row) data->fill(Split::train, i * training.batch + row, 0, row, inputs);
    executable->submit(i);
    executable->run(i < kSteps ? Entry::train : Entry::evaluate);
  }
  executable->synchronize();
  std::vector<StepRecord> records;
  executable->drain(records);
  Outcome outcome;
  for (const StepRecord& record : records) outcome.losses.push_back(record.loss);
  outcome.correct = records.back().correct;
  for (const Variable& variable : program.variables) {
    if (variable.role == VariableRole::derived) continue;
    auto& values = outcome.variables[variable.name];
    values.resize(static_cast<std::size_t>(variable.desc.elements()));
    executable->read(variable.name, values);
  }
  outcome.library_masks = executable->library_dropout_masks();
  return outcome;
}

inline Outcome train_on_cuda(const Training& training, FakeLibrariesOptions options = {}, std::uint64_t seed = 0,
                             bool fused = true) {
  const auto device = std::make_shared<FakeDevice>(seed);
  auto backend = make_cuda_backend(device, [&] { return std::make_shared<FakeLibraries>(*device, options); });
  if (!fused) backend = std::make_unique<PartsOnly>(std::move(backend));
  return train(training, *backend);
}

}  // namespace epochbench::test
