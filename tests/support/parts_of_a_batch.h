// Checks of training in parts of a batch, and with blocks whose activations are recomputed, for every backend.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/trainer.h"

namespace epochbench::test {

// What the first step leaves of the gradients: the first moments, or the velocities.
inline std::vector<float> gradients(const Trainer& trainer) {
  std::vector<float> all;
  for (const Variable& variable : trainer.program().variables) {
    if (!variable.name.ends_with(".moment1") && !variable.name.ends_with(".velocity")) continue;
    std::vector<float> values(static_cast<std::size_t>(variable.desc.elements()));
    trainer.executable().read(variable.name, values);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

inline double norm(const std::vector<float>& values) {
  double squares = 0;
  for (float value : values) squares += static_cast<double>(value) * value;
  return std::sqrt(squares);
}

inline double relative_difference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  std::vector<float> difference(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) difference[i] = a[i] - b[i];
  return norm(difference) / norm(b);
}

// The gradients of a batch in parts are those of the whole batch, with the same dropout masks; so are losses and evaluations.
// Not for models with batch norm, whose statistics are those of a part.
inline void expect_parts_equal_the_whole(Training training, std::int64_t parts, const Backend& backend, double tolerance) {
  Trainer whole(training, backend);
  training.accumulate = parts;
  Trainer divided(training, backend);
  if (training.precision == Precision::fp16)  // so that no step is skipped
    for (Trainer* trainer : {&whole, &divided}) trainer->write("loss_scale", 1024);
  const double expected = whole.step(Entry::train, 0).loss;
  EXPECT_NEAR(divided.step(Entry::train, 0).loss / expected, 1, tolerance);
  EXPECT_LE(relative_difference(gradients(divided), gradients(whole)), tolerance);
  for (int step = 1; step < 3; ++step)
    EXPECT_NEAR(divided.step(Entry::train, step * training.batch).loss / whole.step(Entry::train, step * training.batch).loss,
                1, 10 * tolerance);
  const StepRecord one = whole.step(Entry::evaluate, 0), sum = divided.step(Entry::evaluate, 0);
  EXPECT_NEAR(sum.loss / one.loss, 1, 10 * tolerance);
  EXPECT_NEAR(sum.correct, one.correct, tolerance < 1e-4 ? 0 : 2);
}

// Losses, weights, statistics and optimizer state, to the bit.
inline void expect_same_with_checkpoints(Training training, const Backend& backend) {
  Trainer plain(training, backend);
  training.checkpoint = Checkpoint::blocks;
  Trainer recomputing(training, backend);
  EXPECT_LT(memory(recomputing.program()).activations, memory(plain.program()).activations);
  EXPECT_EQ(recomputing.losses(3), plain.losses(3));
  for (VariableRole role : {VariableRole::parameter, VariableRole::statistic, VariableRole::optimizer})
    EXPECT_EQ(recomputing.state(role), plain.state(role));
  EXPECT_EQ(recomputing.step(Entry::evaluate, 0).loss, plain.step(Entry::evaluate, 0).loss);
}

}  // namespace epochbench::test
