// Dynamic loss scaling: the kernels' arithmetic, and whole fp16 steps whose gradients overflow.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "kernels/reference/kernels.h"
#include "support/trainer.h"

namespace epochbench {
namespace {

using test::Trainer;
using test::Training;

struct State {
  float scale;
  std::int32_t finite_steps, skipped;
  bool operator==(const State&) const = default;
};
void PrintTo(const State& s, std::ostream* out) {
  *out << "scale " << s.scale << ", " << s.finite_steps << " finite, " << s.skipped << " skipped";
}

State after(State state, std::int32_t finite) {
  const LossScaleAttributes a;
  reference::update_loss_scale(&state.scale, &state.finite_steps, &state.skipped, &finite,
                               {a.growth, a.backoff, a.growth_interval, kMinLossScale, kMaxLossScale});
  return state;
}

TEST(UpdateLossScale, HalvesAndCountsAfterANonFiniteStep) { EXPECT_EQ(after({1024, 700, 3}, 0), (State{512, 0, 4})); }

TEST(UpdateLossScale, DoublesAfterTheIntervalAndStartsToCountAgain) {
  EXPECT_EQ(after({1024, 1998, 3}, 1), (State{1024, 1999, 3}));
  EXPECT_EQ(after({1024, 1999, 3}, 1), (State{2048, 0, 3}));
}

TEST(UpdateLossScale, StaysBetweenItsBounds) {
  EXPECT_EQ(after({1, 5, 0}, 0), (State{1, 0, 1}));
  EXPECT_EQ(after({0x1p24f, 1999, 0}, 1), (State{0x1p24f, 0, 0}));
}

TEST(AllFinite, FindsOneElementOfEveryType) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (Element element : {Element::f32, Element::bf16, Element::f16})
    for (std::int64_t n : {1, 2, 37})
      for (std::int64_t bad = 0; bad < n; ++bad)
        for (float value : {1.0f, -65504.0f, inf, -inf, nan}) {
          std::vector<float> values(static_cast<std::size_t>(n), 0.5f), stored(values.size());
          values[static_cast<std::size_t>(bad)] = value;
          reference::cast(stored.data(), values.data(), element, Element::f32, n);
          EXPECT_EQ(reference::all_finite(stored.data(), element, n), std::isfinite(value)) << value << " at " << bad;
        }
}

const Training kAdamw{"lenet5", 4, "digits", Precision::fp16}, kSgd{"resnet20", 2, "synthetic", Precision::fp16};

class OverflowingStep : public testing::TestWithParam<Training> {};
INSTANTIATE_TEST_SUITE_P(Optimizers, OverflowingStep, testing::Values(kAdamw, kSgd));

// The gradient of the logits alone is about 1 / batch, so a scale of 2^24 takes it far beyond 65504.
TEST_P(OverflowingStep, ChangesNothingButTheScaleAndTheCounters) {
  Trainer trainer(GetParam(), *make_reference_backend());
  trainer.step(Entry::train, 0);
  ASSERT_EQ(trainer.read("skipped_steps"), 0);
  const auto weights = trainer.state(VariableRole::parameter), moments = trainer.state(VariableRole::optimizer);
  trainer.write("loss_scale", 0x1p24f);
  trainer.step(Entry::train, 0);
  EXPECT_EQ(trainer.state(VariableRole::parameter), weights);
  EXPECT_EQ(trainer.state(VariableRole::optimizer), moments);
  EXPECT_EQ(trainer.read("loss_scale"), 0x1p23f);
  EXPECT_EQ(trainer.read("skipped_steps"), 1);
  EXPECT_EQ(trainer.read("finite_steps"), 0);
  EXPECT_EQ(trainer.read("step"), 2);

  trainer.write("loss_scale", 1024);
  trainer.step(Entry::train, 0);
  EXPECT_NE(trainer.state(VariableRole::parameter), weights);
  EXPECT_NE(trainer.state(VariableRole::optimizer), moments);
  EXPECT_EQ(trainer.read("loss_scale"), 1024);
  EXPECT_EQ(trainer.read("skipped_steps"), 1);
  EXPECT_EQ(trainer.read("finite_steps"), 1);
}

// Skipped steps have no later effect: the bias correction of AdamW counts updates, not steps.
TEST(LossScale, SkippedStepsDoNotAffectLaterUpdates) {
  Trainer skips(kAdamw, *make_reference_backend());
  skips.write("loss_scale", 0x1p24f);
  skips.step(Entry::train, 0);
  skips.step(Entry::train, 0);
  ASSERT_EQ(skips.read("skipped_steps"), 2);
  Trainer none(kAdamw, *make_reference_backend());
  for (Trainer* trainer : {&skips, &none}) {
    trainer->write("loss_scale", 1024);
    trainer->losses(3);
  }
  EXPECT_EQ(skips.state(VariableRole::parameter), none.state(VariableRole::parameter));
  EXPECT_EQ(skips.state(VariableRole::optimizer), none.state(VariableRole::optimizer));
  EXPECT_EQ(skips.read("step"), 5);
  EXPECT_EQ(none.read("step"), 3);
}

TEST(LossScale, GrowsAfterTheIntervalAndTheStepCounts) {
  Trainer trainer(kAdamw, *make_reference_backend());
  trainer.write("loss_scale", 1024);
  trainer.write("finite_steps", 1998);
  trainer.step(Entry::train, 0);
  EXPECT_EQ(trainer.read("loss_scale"), 1024);
  const auto weights = trainer.state(VariableRole::parameter);
  trainer.step(Entry::train, 4);
  EXPECT_EQ(trainer.read("loss_scale"), 2048);
  EXPECT_EQ(trainer.read("finite_steps"), 0);
  EXPECT_NE(trainer.state(VariableRole::parameter), weights);
}

// Scales are powers of two, so only gradients outside the normal numbers of fp16 make a difference.
TEST(LossScale, DoesNotChangeTheUpdateWhereNothingOverOrUnderflows) {
  std::vector<std::vector<float>> weights;
  for (float scale : {4096.0f, 8192.0f}) {
    Trainer trainer(kAdamw, *make_reference_backend());
    trainer.write("loss_scale", scale);
    trainer.step(Entry::train, 0);
    ASSERT_EQ(trainer.read("skipped_steps"), 0);
    weights.push_back(trainer.state(VariableRole::optimizer));
  }
  ASSERT_EQ(weights[0].size(), weights[1].size());
  float largest = 0;
  for (float value : weights[0]) largest = std::max(largest, std::fabs(value));
  for (std::size_t i = 0; i < weights[0].size(); ++i) EXPECT_NEAR(weights[0][i], weights[1][i], 0x1p-11 * largest) << i;
}

TEST(LossScale, TheRecordedLossIsNotScaled) {
  const double expected = Trainer({"lenet5", 4, "digits"}, *make_reference_backend()).losses(1)[0];
  for (float scale : {1.0f, 65536.0f}) {
    Trainer trainer(kAdamw, *make_reference_backend());
    trainer.write("loss_scale", scale);
    EXPECT_NEAR(trainer.losses(1)[0] / expected, 1, 8 * 0x1p-11);
  }
}

}  // namespace
}  // namespace epochbench
