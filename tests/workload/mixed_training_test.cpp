// Whole training in reduced precision on the reference backend, against fp32.
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "support/print.h"
#include "support/roundoff.h"
#include "support/trainer.h"

namespace epochbench {
namespace {

using test::Trainer;
using test::unit_roundoff;

double mean_of_last(const std::vector<double>& losses, int count) {
  return std::accumulate(losses.end() - count, losses.end(), 0.0) / count;
}

class MixedModel : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, MixedModel, testing::Values("lenet5", "resnet20", "bert-tiny:sequence=16"));

// The roundings of the many logits of a loss are independent, so their mean errs by less than one of them.
TEST_P(MixedModel, FirstLossesMatchFp32WithinRounding) {
  for (Entry entry : {Entry::train, Entry::evaluate}) {
    const double expected = Trainer({GetParam(), 2}, *make_reference_backend()).step(entry, 0).loss;
    for (Precision precision : {Precision::tf32, Precision::bf16, Precision::fp16}) {
      const double loss = Trainer({GetParam(), 2, "synthetic", precision}, *make_reference_backend()).step(entry, 0).loss;
      EXPECT_NE(loss, expected) << name(precision) << " rounds nothing";
      EXPECT_NEAR(loss / expected, 1, unit_roundoff(precision)) << name(precision) << " " << name(entry);
    }
  }
}

class MixedTraining : public testing::TestWithParam<Precision> {};
INSTANTIATE_TEST_SUITE_P(Precisions, MixedTraining, testing::Values(Precision::tf32, Precision::bf16, Precision::fp16));

// With rounding, training follows another path, whose losses differ by a few hundredths on average.
TEST_P(MixedTraining, LearnsDigitsAsFp32Does) {
  const auto losses = [](Precision precision) {
    return Trainer({"lenet5", 16, "digits", precision}, *make_reference_backend()).losses(40);
  };
  const std::vector<double> expected = losses(Precision::fp32), actual = losses(GetParam());
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(actual[i] / expected[i], 1, 4 * unit_roundoff(GetParam())) << "step " << i;
  EXPECT_LT(mean_of_last(expected, 10), 0.5 * expected[0]);
  EXPECT_NEAR(mean_of_last(actual, 10), mean_of_last(expected, 10), 0.15);
}

// Master weights are kept in float, so that updates below 16-bit resolution add up.
TEST(MixedTraining, KeepsUpdatesThatAreBelowTheResolutionOf16Bits) {
  Trainer trainer({"lenet5", 2, "digits", Precision::bf16}, *make_reference_backend());
  const std::vector<float> before = trainer.state(VariableRole::parameter);
  trainer.write("learning_rate", 1e-6f);
  trainer.step(Entry::train, 0);
  const std::vector<float> after = trainer.state(VariableRole::parameter);
  std::size_t below = 0;  // moved, and by less than half a step of bf16
  for (std::size_t i = 0; i < before.size(); ++i)
    below += after[i] != before[i] && std::fabs(after[i] - before[i]) < 0x1p-9 * std::fabs(before[i]);
  EXPECT_GT(below, before.size() / 2);
}

}  // namespace
}  // namespace epochbench
