// The logits of a model's forward program on any backend, although backends can read only variables.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/graph/passes.h"
#include "src/workload/workload.h"
#include "tests/support/compare.h"

namespace epochbench::test {

// Moves every scale, bias and statistic from its initial value, so that omitting one shows; variances stay positive.
inline void write_one_dimensional(Executable& executable, const Program& program) {
  std::uint64_t seed = 0;
  for (const Variable& variable : program.variables) {
    if (variable.desc.shape.size() != 1 || variable.role == VariableRole::control || variable.role == VariableRole::derived)
      continue;
    std::vector<float> values(static_cast<std::size_t>(variable.desc.elements()));
    fill_uniform(values, ++seed);
    for (float& value : values) value = 1 + value / 2;
    executable.write(variable.name, values);
  }
}

// The logits [labels, classes] of the first `batch` synthetic samples, through a variable: sgd without momentum stores its
// gradient, here the logits, as the velocity. With Entry::train among the entries, by weights that could be trained.
inline std::vector<float> logits(const std::string& model, std::int64_t batch, const Backend& backend,
                                 Precision precision = Precision::fp32, bool fusion = true,
                                 const std::vector<Entry>& entries = {Entry::forward}) {
  CaseSpec named;
  named.model = find_model(model);
  named.batch = batch;
  const WorkloadSpec spec = workload_spec(named);
  Program program = make_program(spec, backend, entries, precision, fusion);
  Graph graph = program.entry(Entry::forward)->graph;
  const ValueId result = graph.output("logits");
  const TensorDesc desc{graph.desc(result).shape, DType::f32};
  const auto control = [&](const char* name, const TensorDesc& of) {
    return graph.add_variable({name, of, VariableRole::control, {}});
  };
  const ValueId rate = control("read.rate", {{1}, DType::f32}), weight = control("read.weight", desc);
  graph.add_node(Op::sgd, SgdAttributes{.momentum = 0}, {rate, weight, result, control("read.logits", desc)}, "read");
  MemoryPlan plan = plan_memory(graph, backend);
  for (const Variable& variable : graph.variables)
    if (variable.name.starts_with("read.")) program.variables.push_back(variable);
  program.entries[static_cast<std::size_t>(Entry::forward)] = EntryGraph{std::move(graph), std::move(plan)};

  const auto executable = backend.compile(program);
  initialize(*executable, program, 0);
  write_one_dimensional(*executable, program);
  const auto data = open_dataset("synthetic", spec.model.family->sample(spec.config), 1000, 0);
  std::vector<std::span<std::byte>> inputs;
  for (std::size_t i = 0; i < program.entry(Entry::forward)->graph.inputs.size(); ++i)
    inputs.push_back(executable->stage(0, static_cast<int>(i)));
  for (std::int64_t row = 0; row < batch; ++row) data->fill(Split::train, row, 0, row, inputs);
  executable->submit(0);
  for (Entry entry : {Entry::calibrate, Entry::prepare, Entry::forward})
    if (program.entry(entry) != nullptr) executable->run(entry);
  executable->synchronize();
  std::vector<float> values(static_cast<std::size_t>(desc.elements()));
  executable->read("read.logits", values);
  return values;
}

// The largest difference as a fraction of the largest logit.
inline double difference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double most = 0, largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(std::isfinite(a[i]));
    most = std::max(most, std::fabs(static_cast<double>(a[i]) - b[i]));
    largest = std::max(largest, std::fabs(static_cast<double>(b[i])));
  }
  EXPECT_GT(largest, 0);
  return most / largest;
}

}  // namespace epochbench::test
