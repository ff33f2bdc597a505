// Trains on images that are staged as bytes and on the same images as floats, on any backend.
#pragma once

#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/data_files.h"
#include "tests/support/trainer.h"

namespace epochbench::test {

// Losses, weights and an evaluation with padded rows are the same to the bit, and the staged images are a quarter.
inline void expect_bytes_train_as_floats(const Backend& backend, const char* model, Precision precision) {
  SCOPED_TRACE(std::string(model) + " " + name(precision));
  constexpr std::int64_t kBatch = 5;
  const TemporaryFolder folder;
  write_idx_folder(folder, 28, 28, 20, 8);
  Training training{model, kBatch, "idx:" + folder.path().string(), precision};
  Trainer floats(training, backend);
  training.bytes = true;
  Trainer bytes(training, backend);
  ASSERT_EQ(images_of(floats.program()), DType::f32);
  ASSERT_EQ(images_of(bytes.program()), DType::u8);
  EXPECT_EQ(floats.executable().stage(0, 0).size(), 4 * bytes.executable().stage(0, 0).size());
  EXPECT_EQ(bytes.executable().stage(0, 0).size(), static_cast<std::size_t>(kBatch * 28 * 28));
  const std::vector<double> expected = floats.losses(3);
  EXPECT_EQ(bytes.losses(3), expected);
  EXPECT_NE(expected[0], expected[2]);
  for (double loss : expected) EXPECT_TRUE(std::isfinite(loss));
  for (VariableRole role : {VariableRole::parameter, VariableRole::statistic, VariableRole::optimizer})
    EXPECT_EQ(bytes.state(role), floats.state(role));
  const StepRecord whole = floats.step(Entry::evaluate, 0, 3), of_bytes = bytes.step(Entry::evaluate, 0, 3);
  EXPECT_EQ(of_bytes.loss, whole.loss);
  EXPECT_EQ(of_bytes.correct, whole.correct);
}

}  // namespace epochbench::test
