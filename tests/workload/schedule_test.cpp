// Schedules of the learning rate: their values at every edge, and that steps train with them.
#include "src/workload/schedule.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/clock.h"
#include "src/base/errors.h"
#include "src/worker/runner.h"
#include "src/workload/workload.h"

namespace epochbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<double> factors(const LearningRateSchedule& schedule, std::int64_t steps, std::int64_t shown) {
  std::vector<double> values;
  for (std::int64_t step = 0; step < shown; ++step) values.push_back(schedule.factor(step, steps));
  return values;
}

TEST(Schedule, WarmUpRisesInEqualPartsToTheWholeRate) {
  EXPECT_THAT(factors({Schedule::constant, 4}, 0, 6), ElementsAre(0.25, 0.5, 0.75, 1, 1, 1));
  EXPECT_THAT(factors({Schedule::constant, 1}, 0, 2), ElementsAre(1, 1));
  EXPECT_THAT(factors({Schedule::constant, 0}, 0, 2), ElementsAre(1, 1));
}

TEST(Schedule, CosineBeginsAfterTheWarmUpAndDoesNotReachZero) {
  const std::vector<double> values = factors({Schedule::cosine, 2}, 6, 7);
  EXPECT_EQ(values[0], 0.5);
  EXPECT_EQ(values[1], 1);
  EXPECT_EQ(values[2], 1);
  EXPECT_DOUBLE_EQ(values[3], (1 + std::sqrt(0.5)) / 2);
  EXPECT_DOUBLE_EQ(values[4], 0.5);
  EXPECT_DOUBLE_EQ(values[5], (1 - std::sqrt(0.5)) / 2);
  EXPECT_EQ(values[6], values[5]) << "after the last step";
  EXPECT_THAT(factors({Schedule::cosine, 0}, 1, 2), ElementsAre(1, 1));
}

// 90 epochs of ResNets: a tenth from the 30th on, a hundredth from the 60th on (He et al. 2015).
TEST(Schedule, StepsAreAtEachThird) {
  EXPECT_THAT(factors({Schedule::step, 0}, 9, 10), ElementsAre(1, 1, 1, 0.1, 0.1, 0.1, 0.01, 0.01, 0.01, 0.01));
  EXPECT_THAT(factors({Schedule::step, 0}, 4, 4), ElementsAre(1, 1, 0.1, 0.01));
  EXPECT_THAT(factors({Schedule::step, 2}, 9, 4), ElementsAre(0.5, 1, 1, 0.1));
}

CaseSpec case_of(Schedule schedule, std::int64_t warmup) {
  CaseSpec spec;
  spec.model = find_model("mlp:width=32");
  spec.data = "digits";
  spec.batch = 16;
  spec.threads = 1;
  spec.lr_schedule = schedule;
  spec.lr_warmup = warmup;
  spec.stop.steps = 9;
  return spec;
}

TEST(Schedule, CoversTheTimedSteps) {
  CaseSpec spec = case_of(Schedule::cosine, 3);
  EXPECT_EQ(scheduled_steps(spec, 7), 9);
  spec.stop = StopSpec{};
  spec.stop.epochs = 4;
  EXPECT_EQ(scheduled_steps(spec, 7), 28);
  spec.lr_warmup = 28;
  try {
    scheduled_steps(spec, 7);
    FAIL();
  } catch (const CallError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--lr-warmup 28 leaves none of 28 steps to --lr-schedule cosine"));
    EXPECT_EQ(error.code(), kExitCallIsWrong);
  }
  spec.stop.epochs = std::int64_t{1} << 62;
  EXPECT_GT(scheduled_steps(spec, std::int64_t{1} << 40), std::int64_t{1} << 40);
  EXPECT_EQ(scheduled_steps(case_of(Schedule::constant, 100), 7), 0) << "a short run of a long recipe";
}

TEST(Schedule, BelongsToTheIdentityOfTheWorkload) {
  const WorkloadSpec plain = workload_spec(case_of(Schedule::constant, 0));
  EXPECT_EQ(plain.optimizer_text(), plain.optimizer.to_string());
  const WorkloadSpec cosine = workload_spec(case_of(Schedule::cosine, 0)), warm = workload_spec(case_of(Schedule::cosine, 3));
  EXPECT_EQ(warm.optimizer_text(), plain.optimizer_text() + " lr_schedule=cosine lr_warmup=3");
  EXPECT_NE(count(cosine).fingerprint, count(plain).fingerprint);
  EXPECT_NE(count(cosine).fingerprint, count(warm).fingerprint);
}

// Two warm-up steps, which are not timed, and nine timed ones in blocks.
std::vector<double> scheduled_losses(CaseSpec spec) {
  PreparedCase prepared = prepare_case(spec);
  Runner runner(*prepared.executable, *prepared.batches, prepared.entry, steady_seconds, read_usage, nullptr,
                prepared.learning_rate);
  runner.begin_epoch(0);
  std::vector<double> losses = runner.warm_up(2).loss;
  for (std::int64_t steps : {4, 5}) {
    const std::vector<double>& block = runner.steps(steps).loss;
    losses.insert(losses.end(), block.begin(), block.end());
  }
  return losses;
}

// The same steps without a schedule, each with the rate that is written before it.
std::vector<double> losses_by_hand(CaseSpec spec, const std::vector<double>& rates) {
  spec.lr_schedule = Schedule::constant;
  spec.lr_warmup = 0;
  PreparedCase prepared = prepare_case(spec);
  EXPECT_FALSE(prepared.learning_rate);
  Runner runner(*prepared.executable, *prepared.batches, prepared.entry, steady_seconds, read_usage);
  runner.begin_epoch(0);
  std::vector<double> losses;
  for (double rate : rates) {
    prepared.executable->write("learning_rate", std::vector<float>{static_cast<float>(rate)});
    losses.push_back(runner.steps(1).loss.at(0));
  }
  return losses;
}

TEST(Schedule, TrainsAsASequenceOfRatesByHandOnEveryBackendOfTheHost) {
  struct Expected {
    Schedule kind;
    std::vector<double> factors;  // of two warm-up steps and nine timed ones, which begin with a rise over three
  };
  const double third = 1.0 / 3;
  std::vector<double> cosine{third, third, third, 2 * third, 1};
  for (int step = 0; step < 6; ++step) cosine.push_back((1 + std::cos(std::acos(-1.0) * step / 6)) / 2);
  for (const Expected& expected :
       {Expected{Schedule::constant, {third, third, third, 2 * third, 1, 1, 1, 1, 1, 1, 1}}, Expected{Schedule::cosine, cosine},
        Expected{Schedule::step, {third, third, third, 2 * third, 1, 0.1, 0.1, 0.1, 0.01, 0.01, 0.01}}}) {
    std::vector<double> of_cpu;
    for (const char* device : {"cpu", "reference"}) {
      CaseSpec spec = case_of(expected.kind, 3);
      spec.device = parse_device(device);
      std::vector<double> rates = expected.factors;
      for (double& rate : rates) rate *= workload_spec(spec).optimizer.learning_rate;
      const std::vector<double> losses = scheduled_losses(spec);
      EXPECT_EQ(losses, losses_by_hand(spec, rates)) << name(expected.kind) << " on " << device;
      EXPECT_NE(losses, losses_by_hand(spec, std::vector<double>(rates.size(), rates[4]))) << "the rate matters";
      if (of_cpu.empty()) of_cpu = losses;
      for (std::size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i] / of_cpu[i], 1, 1e-5) << "step " << i;
    }
  }
}

}  // namespace
}  // namespace epochbench
