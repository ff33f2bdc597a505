#include "src/worker/stopping_rule.h"

#include <cmath>
#include <string>

#include <gmock/gmock.h>

namespace epochbench {
namespace {

using testing::Optional;

std::vector<double> calm(std::size_t n, double step_seconds) { return std::vector<double>(n, step_seconds); }

// Half of the steps take twice as long: no number of them brings the noise below the target.
std::vector<double> restless(std::size_t n, double step_seconds) {
  std::vector<double> samples(n);
  for (std::size_t i = 0; i < n; ++i) samples[i] = step_seconds * (i % 2 ? 1.0 : 2.0);
  return samples;
}

// Feeds ever more steps of the given kind, a block of `block` at a time, until the rule stops; returns reason and steps.
template <class Samples>
std::pair<StopReason, std::size_t> run(StoppingRule& rule, Samples samples, double step_seconds, std::size_t block) {
  std::vector<double> all;
  double elapsed = 0;
  while (true) {
    all = samples(all.size() + block, step_seconds);
    elapsed = 0;
    for (double seconds : all) elapsed += seconds;
    if (const auto reason = rule.after_steps(all, elapsed)) return {*reason, all.size()};
    if (all.size() > 100000) return {StopReason::until, 0};
  }
}

TEST(StoppingRule, StopsAtTheNoiseTargetAfterTenSteps) {
  StoppingRule rule({});
  EXPECT_EQ(rule.after_steps(calm(9, 0.1), 0.9), std::nullopt);
  EXPECT_FALSE(rule.noise());
  EXPECT_THAT(rule.after_steps(calm(10, 0.1), 1.0), Optional(StopReason::noise));
  EXPECT_THAT(rule.noise(), Optional(0.0));
}

TEST(StoppingRule, NoiseTargetIsOnePercent) {
  std::vector<double> samples = calm(10, 1.0);
  samples[0] = samples[1] = 0.979;  // the interval is [0.979, 1]: 1.05 %
  StoppingRule wide({}), narrow({});
  EXPECT_EQ(wide.after_steps(samples, 10), std::nullopt);
  samples[0] = samples[1] = 0.981;
  EXPECT_THAT(narrow.after_steps(samples, 10), Optional(StopReason::noise));
}

TEST(StoppingRule, ShortStretchIsNotEnough) {
  StoppingRule rule({});
  EXPECT_EQ(rule.after_steps(calm(400, 0.001), 0.4), std::nullopt);
  EXPECT_THAT(rule.after_steps(calm(500, 0.001), 0.51), Optional(StopReason::noise));
}

TEST(StoppingRule, StopsAtTheCapOfTime) {
  StoppingRule rule({});
  EXPECT_EQ(rule.after_steps({9, 15}, 24), std::nullopt);
  EXPECT_THAT(rule.after_steps({9, 15, 8}, 32), Optional(StopReason::time));
}

TEST(StoppingRule, TakesThreeStepsHoweverLong) {
  StoppingRule rule({});
  EXPECT_EQ(rule.after_steps({40}, 40), std::nullopt);
  EXPECT_EQ(rule.after_steps({40, 40}, 80), std::nullopt);
  EXPECT_THAT(rule.after_steps({40, 40, 40}, 120), Optional(StopReason::time));
}

TEST(StoppingRule, StableNoiseEndsBeforeTheCapButNotBeforeHalfOfIt) {
  StoppingRule rule({});
  const auto [reason, steps] = run(rule, restless, 0.02, 4);
  EXPECT_EQ(reason, StopReason::stable_noise);
  EXPECT_GE(static_cast<double>(steps) * 0.03, 15);
  EXPECT_LT(static_cast<double>(steps) * 0.03, 30);
}

TEST(StoppingRule, FallingNoiseIsNotStable) {
  // The interval of a steady spread narrows as 1 / sqrt(n): it is worth going on to the cap.
  const auto spread = [](std::size_t n, double step_seconds) {
    std::vector<double> samples(n);
    for (std::size_t i = 0; i < n; ++i)
      samples[i] = step_seconds * (0.5 + std::fmod(0.6180339887 * static_cast<double>(i), 1.0));
    return samples;
  };
  StoppingLimits limits;
  limits.noise = 1e-6;
  StoppingRule rule({}, limits);
  const auto [reason, steps] = run(rule, spread, 0.03, 4);
  EXPECT_EQ(reason, StopReason::time);
  EXPECT_GE(static_cast<double>(steps) * 0.03, 29.5);
}

TEST(StoppingRule, MinTimeIsAFloor) {
  StopSpec spec;
  spec.min_time_seconds = 5;
  StoppingRule rule(spec);
  EXPECT_EQ(rule.after_steps(calm(49, 0.1), 6), std::nullopt);  // time between the steps does not count
  EXPECT_THAT(rule.after_steps(calm(50, 0.1 + 1e-9), 6), Optional(StopReason::noise));
}

TEST(StoppingRule, MinTimeBeyondTheCapLiftsIt) {
  StopSpec spec;
  spec.min_time_seconds = 60;
  StoppingRule rule(spec);
  EXPECT_EQ(rule.after_steps(restless(20, 1), 31), std::nullopt);
  EXPECT_THAT(rule.after_steps(restless(40, 1), 61), Optional(StopReason::time));
}

TEST(StoppingRule, StepsAreCountedAndHaveNoCap) {
  StopSpec spec;
  spec.steps = 12;
  StoppingRule rule(spec);
  EXPECT_EQ(rule.after_steps(calm(11, 100), 1100), std::nullopt);
  EXPECT_THAT(rule.after_steps(calm(12, 100), 1200), Optional(StopReason::steps));
  EXPECT_EQ(rule.next_block(0, std::nullopt), 1);
  EXPECT_EQ(rule.next_block(9, 0.001), 3);
}

TEST(StoppingRule, BlocksFillTheirTime) {
  StoppingRule rule({});
  EXPECT_EQ(rule.next_block(0, std::nullopt), 1);
  EXPECT_EQ(rule.next_block(0, 0.01), 10);
  EXPECT_EQ(rule.next_block(0, 5.0), 1);
  EXPECT_EQ(rule.next_block(0, 1e-9), 4096);
}

StoppingRule queueing(const StopSpec& spec = {}, const StoppingLimits& limits = {}) {
  StoppingRule rule(spec, limits);
  rule.set_queues();
  return rule;
}

TEST(QueueingRule, BlocksLastASecondAndSixteenSteps) {
  for (const double step : {50e-6, 1e-3, 0.043}) {
    const double seconds = static_cast<double>(queueing().next_block(0, step)) * step;
    EXPECT_GT(seconds, 1.05);
    EXPECT_LT(seconds, 1.15);
  }
  EXPECT_EQ(queueing().next_block(0, 0.3), 16);
  EXPECT_EQ(queueing().next_block(0, std::nullopt), 3) << "not known yet";
  EXPECT_EQ(queueing().next_block(0, 1e-9), 65536);
}

TEST(QueueingRule, SlowStepsMakeBlocksOfFiveSecondsButAtLeastThreeSteps) {
  EXPECT_EQ(queueing().next_block(0, 0.5), 10);
  EXPECT_EQ(queueing().next_block(0, 1.05), 4);
  EXPECT_EQ(queueing().next_block(0, 10), 3);
  EXPECT_EQ(queueing().next_block(0, 100), 3);
}

TEST(QueueingRule, LeavesNoShortBlockAtTheEnd) {
  const StoppingRule rule = queueing();
  EXPECT_EQ(rule.block_of(100, 0.043), 26);
  EXPECT_EQ(rule.block_of(42, 0.043), 26) << "16 are left";
  EXPECT_EQ(rule.block_of(41, 0.043), 41);
  EXPECT_EQ(rule.block_of(5, 0.043), 5);
  EXPECT_EQ(rule.block_of(5, std::nullopt), 5);
  EXPECT_EQ(rule.block_of(65540, 1e-9), 65536) << "buffers are bounded";
  StopSpec spec;
  spec.steps = 30;
  EXPECT_EQ(queueing(spec).next_block(0, 0.043), 30);
  EXPECT_EQ(queueing(spec).next_block(28, 0.043), 2);
}

TEST(QueueingRule, MeasuresThreeSeconds) {
  StoppingRule rule = queueing();
  EXPECT_EQ(rule.after_steps(calm(299, 0.01), 2.99), std::nullopt);
  EXPECT_THAT(rule.after_steps(calm(301, 0.01), 3.01), Optional(StopReason::noise));
}

TEST(QueueingRule, TakesTheNumberOfStepsThatIsAskedFor) {
  StopSpec spec;
  spec.steps = 12;
  EXPECT_THAT(queueing(spec).after_steps(calm(12, 0.001), 0.012), Optional(StopReason::steps));
}

TEST(StoppingRule, WholeEpochsAreNeverCut) {
  StopSpec spec;
  spec.epochs = 3;
  StoppingRule rule(spec);
  EXPECT_TRUE(rule.whole_epochs());
  EXPECT_EQ(rule.after_steps(calm(1000, 1), 1000), std::nullopt);
  EXPECT_EQ(rule.after_epoch(2, 0.5), std::nullopt);
  EXPECT_THAT(rule.after_epoch(3, std::nullopt), Optional(StopReason::epochs));
}

TEST(StoppingRule, UntilAccuracyIsAtLeastAndLossAtMost) {
  StopSpec spec;
  spec.until = Until{EvalMetric::accuracy, 0.97};
  StoppingRule accuracy(spec);
  EXPECT_EQ(accuracy.after_epoch(1, 0.9699), std::nullopt);
  EXPECT_THAT(accuracy.after_epoch(2, 0.97), Optional(StopReason::until));
  spec.until = Until{EvalMetric::loss, 0.1};
  StoppingRule loss(spec);
  EXPECT_EQ(loss.after_epoch(1, 0.11), std::nullopt);
  EXPECT_THAT(loss.after_epoch(2, 0.1), Optional(StopReason::until));
}

TEST(StoppingRule, UntilEndsAfterAHundredEpochsOrThoseAskedFor) {
  StopSpec spec;
  spec.until = Until{EvalMetric::accuracy, 2};
  EXPECT_EQ(StoppingRule(spec).after_epoch(99, 0.5), std::nullopt);
  EXPECT_THAT(StoppingRule(spec).after_epoch(100, 0.5), Optional(StopReason::epochs));
  spec.epochs = 4;
  EXPECT_THAT(StoppingRule(spec).after_epoch(4, 0.5), Optional(StopReason::epochs));
}

TEST(StoppingRule, LatenciesEndWithTheirNumberOrTheirTime) {
  const StoppingRule rule({});
  EXPECT_EQ(rule.next_latency_block(0, 0, 0.01), 10) << "as long as a block of steps";
  EXPECT_EQ(rule.next_latency_block(995, 9, 0.01), 5);
  EXPECT_EQ(rule.next_latency_block(1000, 1, 0.01), 0);
  EXPECT_GT(rule.next_latency_block(100, 9.9, 0.01), 0);
  EXPECT_EQ(rule.next_latency_block(100, 10, 0.01), 0);
  EXPECT_EQ(rule.next_latency_block(2, 30, 10), 1) << "three are taken however long they last";
  EXPECT_EQ(rule.next_latency_block(3, 40, 10), 0);
}

TEST(StoppingRule, LatenciesOfAskedForStepsAreAsMany) {
  StopSpec spec;
  spec.steps = 12;
  const StoppingRule rule(spec);
  EXPECT_EQ(rule.next_latency_block(0, 0, 0.001), 12);
  EXPECT_EQ(rule.next_latency_block(11, 1000, 100), 1);
  EXPECT_EQ(rule.next_latency_block(12, 0, 0.001), 0);
}

TEST(StoppingRule, ReasonsHaveTheNamesOfTheResultFile) {
  EXPECT_EQ(std::string(name(StopReason::noise)), "noise");
  EXPECT_EQ(std::string(name(StopReason::stable_noise)), "stable_noise");
  EXPECT_EQ(std::string(name(StopReason::time)), "time");
  EXPECT_EQ(std::string(name(StopReason::steps)), "steps");
  EXPECT_EQ(std::string(name(StopReason::epochs)), "epochs");
  EXPECT_EQ(std::string(name(StopReason::until)), "until");
}

}  // namespace
}  // namespace epochbench
