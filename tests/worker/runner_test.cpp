#include "src/worker/runner.h"

#include <csignal>
#include <limits>

#include <gmock/gmock.h>

#include "tests/support/allocations.h"
#include "tests/support/fake_batches.h"
#include "tests/support/fake_executable.h"

namespace epochbench {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// A clock that each part moves on by what it takes: data 2 s, a step 3 s, a look at the clock nothing.
class RunnerTest : public testing::Test {
 protected:
  RunnerTest() {
    batches.wait = [this] { now += 2; };
    executable.work = [this](std::int64_t) { now += 3; };
  }
  Runner make(Entry entry = Entry::train) {
    return Runner(
        executable, batches, entry, [this] { return now; }, [this] { return usage; });
  }
  double now = 100;
  Usage usage;
  test::FakeExecutable executable;
  test::FakeBatches batches;
};

TEST_F(RunnerTest, StepsHoldTheWaitForData) {
  Runner runner = make();
  runner.begin_epoch(0);
  const StepBlock& block = runner.steps(3);
  EXPECT_THAT(block.step_seconds, ElementsAre(5, 5, 5));
  EXPECT_EQ(block.data_wait_seconds, 6);
  EXPECT_EQ(block.harness_seconds, 0);
  EXPECT_EQ(block.wall_seconds, 15);
  EXPECT_EQ(block.samples, 12);
}

TEST_F(RunnerTest, TimeOutsideOfTheStepsIsTheHarness) {
  Runner runner(
      executable, batches, Entry::train, [this] { return now += 0.5; }, [this] { return usage; });
  runner.begin_epoch(0);
  const StepBlock& block = runner.steps(2);
  // A step reads the clock twice after its start: 5 + 1 s. Around two steps there are three more readings.
  EXPECT_THAT(block.step_seconds, ElementsAre(6, 6));
  EXPECT_DOUBLE_EQ(block.harness_seconds, block.wall_seconds - 12);
  EXPECT_DOUBLE_EQ(block.harness_seconds, 1.5);
}

TEST_F(RunnerTest, LossesComeByStepAcrossBlocks) {
  Runner runner = make();
  runner.begin_epoch(0);
  EXPECT_THAT(runner.steps(2).loss, ElementsAre(2.0, 1.0));
  EXPECT_THAT(runner.steps(2).loss, ElementsAre(DoubleEq(2.0 / 3), 0.5));
}

TEST_F(RunnerTest, BatchesAreSubmittedAndReleasedInOrder) {
  Runner runner = make();
  runner.begin_epoch(0);
  runner.steps(6);
  EXPECT_THAT(executable.submitted, ElementsAre(0, 1, 2, 3, 0, 1));
  EXPECT_EQ(batches.released, executable.submitted);
}

TEST_F(RunnerTest, UsageIsWhatTheBlockUsed) {
  usage = {100, 10, 50};
  executable.work = [this](std::int64_t) {
    usage.page_faults += 2;
    usage.own_cpu_seconds += 1;
    *usage.busy_cpu_seconds += 4;
  };
  Runner runner = make();
  runner.begin_epoch(0);
  runner.steps(5);
  const StepBlock& block = runner.steps(3);
  EXPECT_EQ(block.usage.page_faults, 6);
  EXPECT_DOUBLE_EQ(block.usage.own_cpu_seconds, 3);
  EXPECT_DOUBLE_EQ(block.usage.busy_cpu_seconds.value(), 12);
}

TEST_F(RunnerTest, StepsDuringWhichTheProcessWasStoppedAreNamed) {
  executable.work = [](std::int64_t step) {
    if (step == 2 || step == 5) std::raise(SIGCONT);  // as after a stop
  };
  Runner runner = make();
  runner.begin_epoch(0);
  EXPECT_THAT(runner.steps(4).stopped, ElementsAre(2));
  EXPECT_THAT(runner.steps(4).stopped, ElementsAre(1));
  EXPECT_THAT(runner.steps(4).stopped, IsEmpty());
}

TEST_F(RunnerTest, LatenciesLeaveOutStepsDuringWhichTheProcessWasStopped) {
  executable.work = [](std::int64_t step) {
    if (step == 1) std::raise(SIGCONT);  // as after a stop
  };
  Runner runner = make();
  runner.begin_epoch(0);
  const StepBlock& block = runner.latencies(3);
  EXPECT_THAT(block.step_seconds, SizeIs(2));
  EXPECT_THAT(block.stopped, ElementsAre(1));
}

TEST_F(RunnerTest, BusyTimeThatIsNotKnownStaysUnknown) {
  Runner runner = make();
  runner.begin_epoch(0);
  EXPECT_FALSE(runner.steps(1).usage.busy_cpu_seconds);
}

TEST_F(RunnerTest, NothingIsAllocatedBetweenSteps) {
  std::vector<std::int64_t> seen;
  seen.reserve(64);
  executable.work = [&seen](std::int64_t) { seen.push_back(test::allocations()); };
  Runner runner = make();
  runner.begin_epoch(0);
  runner.steps(64);
  ASSERT_THAT(seen, SizeIs(64));
  EXPECT_EQ(seen.back(), seen.front());
  EXPECT_GT(test::allocations(), 0);
}

TEST_F(RunnerTest, EvaluationIsTheMeanOverTheTestSplit) {
  executable.accuracy = [](std::int64_t step) { return step == 0 ? 1.0 : 0.25; };
  Runner runner = make();
  runner.begin_epoch(1);
  runner.steps(2);
  const Evaluation evaluation = runner.evaluate();
  EXPECT_EQ(evaluation.samples, 12);
  EXPECT_DOUBLE_EQ(evaluation.accuracy, 0.5);
  EXPECT_DOUBLE_EQ(evaluation.loss, 0.25);
  runner.begin_epoch(2);
  EXPECT_THAT(runner.steps(1).loss, SizeIs(1));
  EXPECT_THAT(batches.epochs, ElementsAre(1, 2));
}

TEST_F(RunnerTest, EvaluationOfSeveralLabelsASampleIsTheMeanOverLabels) {
  Runner runner = make();
  const Evaluation evaluation = runner.evaluate(5);
  EXPECT_EQ(evaluation.samples, 12);
  EXPECT_DOUBLE_EQ(evaluation.accuracy, 0.1);
  EXPECT_DOUBLE_EQ(evaluation.loss, 0.05);
}

TEST_F(RunnerTest, ObserverSeesEachStepBeforeItsSlotIsReleasedAndIsNotTimed) {
  std::vector<InputSlot> slots;
  std::vector<double> losses;
  Runner runner(
      executable, batches, Entry::train, [this] { return now; }, [this] { return usage; },
      [&](InputSlot slot, double loss) {
        EXPECT_EQ(batches.released.size(), slots.size());
        slots.push_back(slot);
        losses.push_back(loss);
        now += 50;
      });
  runner.begin_epoch(0);
  runner.steps(1);
  const StepBlock& block = runner.steps(2);
  EXPECT_THAT(slots, ElementsAre(0, 1, 2));
  EXPECT_THAT(losses, ElementsAre(2.0, 1.0, DoubleEq(2.0 / 3)));
  EXPECT_THAT(block.loss, ElementsAre(1.0, DoubleEq(2.0 / 3)));
  EXPECT_THAT(block.step_seconds, ElementsAre(5, 5));
  EXPECT_EQ(block.wall_seconds, 10);
  EXPECT_EQ(block.harness_seconds, 0);
}

TEST_F(RunnerTest, ARateIsSetOnlyWhereItDiffersAndWarmUpStepsAreNotCounted) {
  executable.accepts_settings = true;
  Runner runner(
      executable, batches, Entry::train, [this] { return now; }, [this] { return usage; }, nullptr,
      [](std::int64_t step) { return step < 2 ? 0.25 * static_cast<double>(step + 1) : 1.0; });
  runner.begin_epoch(0);
  runner.warm_up(3);
  runner.steps(2);
  runner.warm_up(1);
  runner.steps(3);
  using Setting = std::pair<std::int64_t, float>;  // before this step
  EXPECT_THAT(executable.learning_rates, ElementsAre(Setting{0, 0.25f}, Setting{4, 0.5f}, Setting{5, 1.0f}));
}

TEST_F(RunnerTest, EmptyTestSplitIsAnError) {
  batches.evaluation_batches = 0;
  Runner runner = make();
  EXPECT_THROW(runner.evaluate(), std::runtime_error);
}

std::string divergence(Runner runner, BatchSource& batches) {
  batches.begin_training(0);
  try {
    runner.steps(3);
    runner.steps(3);
  } catch (const Diverged& error) {
    return error.what();
  }
  return "";
}

TEST_F(RunnerTest, LossThatIsNoNumberIsDivergenceWithItsStep) {
  executable.loss = [](std::int64_t step) { return step == 4 ? std::numeric_limits<double>::quiet_NaN() : 1.0; };
  EXPECT_THAT(divergence(make(), batches), HasSubstr("step 4"));
  executable.loss = [](std::int64_t) { return std::numeric_limits<double>::infinity(); };
  executable.steps = 0;
  EXPECT_THAT(divergence(make(), batches), HasSubstr("the first step is infinite, before any weight was changed"));
}

TEST_F(RunnerTest, LossAThousandTimesTheFirstIsDivergence) {
  executable.loss = [](std::int64_t step) { return step == 5 ? 4001.0 : step == 3 ? 3999.0 : 4.0; };
  EXPECT_THAT(divergence(make(), batches), HasSubstr("step 5"));
  executable.steps = 0;
  executable.loss = [](std::int64_t step) { return step == 0 ? 0.001 : 999.0; };  // a first loss below 1 counts as 1
  EXPECT_EQ(divergence(make(), batches), "");
}

TEST_F(RunnerTest, ForwardHasNoLoss) {
  Runner runner = make(Entry::forward);
  runner.begin_epoch(0);
  EXPECT_TRUE(runner.steps(3).loss.empty());
}

TEST_F(RunnerTest, LatenciesLeaveTheWaitForDataOut) {
  Runner runner = make(Entry::forward);
  runner.begin_epoch(0);
  EXPECT_THAT(runner.latencies(3).step_seconds, ElementsAre(3, 3, 3));
  EXPECT_EQ(batches.released, executable.submitted);
  EXPECT_THAT(runner.steps(2).step_seconds, ElementsAre(5, 5)) << "steps go on as before";
  EXPECT_THROW(runner.latencies(0), std::invalid_argument);
}

TEST_F(RunnerTest, ProfileTakesABatchOfItsOwnAndGivesItBack) {
  Runner runner = make();
  runner.begin_epoch(0);
  runner.steps(2);
  runner.evaluate();  // leaves the source in the test split
  const auto submitted = executable.submitted.size(), released = batches.released.size();
  const Profile profile = runner.profile();
  ASSERT_THAT(profile.nodes, SizeIs(2));
  EXPECT_EQ(profile.nodes[0].op, name(Op::linear));
  ASSERT_EQ(executable.submitted.size(), submitted + 1);
  ASSERT_EQ(batches.released.size(), released + 1);
  EXPECT_EQ(batches.released.back(), executable.submitted.back());
}

TEST_F(RunnerTest, ProfileTakesMorePassesOfShortSteps) {
  batches.wait = [] {};
  const auto passes_after = [&](double seconds) {
    executable.work = [&, seconds](std::int64_t) { now += seconds; };
    Runner runner = make();
    runner.begin_epoch(0);
    runner.steps(2);
    const int passes = runner.profile().passes.value();
    EXPECT_EQ(passes, executable.profiled_passes);
    return passes;
  };
  EXPECT_EQ(passes_after(10), 3);
  EXPECT_EQ(passes_after(0.29), 11) << "odd, so that a median is one of them";
  EXPECT_EQ(passes_after(1e-5), 31);
}

TEST_F(RunnerTest, BlocksAreBounded) {
  Runner runner = make();
  runner.begin_epoch(0);
  EXPECT_THROW(runner.steps(0), std::invalid_argument);
  EXPECT_THROW(runner.steps(kBlockSteps + 1), std::invalid_argument);
  EXPECT_THAT(runner.steps(kBlockSteps).step_seconds, SizeIs(kBlockSteps));
}

TEST_F(RunnerTest, DeviceThatLosesAStepIsAnError) {
  class Forgetful : public test::FakeExecutable {
    void drain(std::vector<StepRecord>& records) override {
      FakeExecutable::drain(records);
      records.pop_back();
    }
  } forgetful;
  Runner runner(
      forgetful, batches, Entry::train, [this] { return now; }, [this] { return usage; });
  runner.begin_epoch(0);
  EXPECT_THROW(runner.steps(2), std::logic_error);
}

}  // namespace
}  // namespace epochbench
