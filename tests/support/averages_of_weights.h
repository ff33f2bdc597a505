// Averages of the weights (OptimizerSpec::ema): each is what its definition says, and an evaluation is that of a model with
// them as its weights.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/graph/passes.h"
#include "support/made_workload.h"
#include "support/trainer.h"

namespace epochbench::test {

inline std::vector<float> read_all(const Trainer& trainer, const Variable& variable, const std::string& name) {
  std::vector<float> values(static_cast<std::size_t>(variable.desc.elements()));
  trainer.executable().read(name, values);
  return values;
}

// For a model without running statistics, which are not averaged.
inline void expect_averages(const std::string& model, Precision precision, const Backend& backend, std::int64_t parts = 1) {
  constexpr double kDecay = 0.75;
  constexpr int kSteps = 3, kBatch = 4;
  WorkloadSpec workload = made_workload(model, kBatch);
  workload.config.dropout = 0;
  workload.accumulate = parts;
  Trainer plain(workload, "synthetic", precision, backend);
  workload.optimizer.ema = kDecay;
  Trainer averaged(workload, "synthetic", precision, backend);
  std::vector<float> expected = averaged.state(VariableRole::parameter);
  for (int step = 0; step < kSteps; ++step) {
    averaged.step(Entry::train, step * kBatch);
    const std::vector<float> weights = averaged.state(VariableRole::parameter);
    for (std::size_t i = 0; i < expected.size(); ++i)
      expected[i] = static_cast<float>(kDecay * expected[i] + (1 - kDecay) * weights[i]);
  }
  std::size_t first = 0;
  for (const Variable& variable : averaged.program().variables) {
    if (variable.role != VariableRole::parameter) continue;
    const std::vector<float> average = read_all(averaged, variable, averaged_name(variable.name));
    for (std::size_t i = 0; i < average.size(); ++i)
      ASSERT_NEAR(average[i], expected[first + i], 1e-6 * (1 + std::abs(expected[first + i]))) << variable.name;
    first += average.size();
    plain.executable().write(variable.name, average);
  }
  EXPECT_EQ(first, expected.size());
  prepare(plain.executable(), plain.program());
  EXPECT_NE(averaged.state(VariableRole::parameter), expected) << "the weights themselves moved on";
  EXPECT_EQ(averaged.step(Entry::evaluate, 0).loss, plain.step(Entry::evaluate, 0).loss);
}

}  // namespace epochbench::test
