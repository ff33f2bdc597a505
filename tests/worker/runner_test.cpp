#include "src/worker/runner.h"

#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>

#include <gmock/gmock.h>

#include "tests/support/fake_batches.h"
#include "tests/support/fake_executable.h"

namespace {
std::atomic<long> allocations = 0;
}

// Counts every allocation of this program. Not inlined, as the compiler would see a pair that does not match.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size ? size : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace epochbench {
namespace {

using testing::DoubleEq;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
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

TEST_F(RunnerTest, BusyTimeThatIsNotKnownStaysUnknown) {
  Runner runner = make();
  runner.begin_epoch(0);
  EXPECT_FALSE(runner.steps(1).usage.busy_cpu_seconds);
}

TEST_F(RunnerTest, NothingIsAllocatedBetweenSteps) {
  std::vector<long> seen;
  seen.reserve(64);
  executable.work = [&seen](std::int64_t) { seen.push_back(allocations); };
  Runner runner = make();
  runner.begin_epoch(0);
  runner.steps(64);
  ASSERT_THAT(seen, SizeIs(64));
  EXPECT_EQ(seen.back(), seen.front());
  EXPECT_GT(allocations, 0);
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
  EXPECT_THAT(runner.latencies(3), ElementsAre(3, 3, 3));
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
  const auto passes_after_steps_of = [&](double seconds) {
    executable.work = [&, seconds](std::int64_t) { now += seconds; };
    Runner runner = make();
    runner.begin_epoch(0);
    runner.steps(2);
    const int passes = runner.profile().passes.value();
    EXPECT_EQ(passes, executable.profiled_passes);
    return passes;
  };
  EXPECT_EQ(passes_after_steps_of(10), 3);
  EXPECT_EQ(passes_after_steps_of(0.29), 11) << "odd, so that a median is one of them";
  EXPECT_EQ(passes_after_steps_of(1e-5), 31);
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

// A device that works behind the caller's back: a step is done when somebody waits for it, and then took `seconds` by the
// device's own clock.
class QueueingExecutable : public test::FakeExecutable {
 public:
  std::function<double(std::int64_t step)> seconds = [](std::int64_t) { return 5.0; };
  std::function<double(std::int64_t step)> idle = [](std::int64_t) { return 0.0; }, arrival = idle;  // before the step itself
  std::function<void()> finish_one = [] {};  // the host's time that waiting for a step takes
  std::function<void()> arrive = [] {};      // the same for a batch, where no step is under way
  std::vector<InputSlot> resubmitted, finished;
  int most_under_way = 0, synchronizations = 0;

  QueueingExecutable() {  // room, as in the base
    resubmitted.reserve(64);
    finished.reserve(64);
    queue_.reserve(64);
    records_.reserve(64);
  }
  bool asynchronous() const override { return true; }
  void resubmit(InputSlot slot) override { resubmitted.push_back(current_ = slot); }
  void submit(InputSlot slot) override { FakeExecutable::submit(current_ = slot); }
  void run(Entry) override {
    queue_.push_back(current_);
    most_under_way = std::max(most_under_way, under_way());
  }
  int under_way() const override { return static_cast<int>(queue_.size()); }
  void await(int count) override {
    for (; under_way() > count; queue_.erase(queue_.begin())) {
      finish_one();
      finished.push_back(queue_.front());
      records_.push_back({Entry::train, 1.0, 0, seconds(steps), idle(steps), arrival(steps)});
      ++steps;
    }
  }
  void synchronize() override {
    ++synchronizations;
    if (under_way() == 0) arrive();
    await(0);
  }
  void drain(std::vector<StepRecord>& records) override {
    records.insert(records.end(), records_.begin(), records_.end());
    records_.clear();
  }

 private:
  InputSlot current_ = 0;
  std::vector<InputSlot> queue_;
  std::vector<StepRecord> records_;
};

// Hands out slots in turn, each fresh once; sees that a slot comes back only when its step is done.
class SlotBatches : public test::FakeBatches {
 public:
  bool resident_batches = false;

  explicit SlotBatches(const QueueingExecutable& executable) : executable_(executable) {}
  bool resident() const override { return resident_batches; }
  Batch next() override {
    wait();
    const InputSlot slot = static_cast<InputSlot>(handed_out_ % kInputSlots);
    return {slot, batch, handed_out_++ < kInputSlots};
  }
  void release(InputSlot slot) override {
    released.push_back(slot);
    ASSERT_LE(released.size(), executable_.finished.size()) << "a slot was given back while its step was under way";
  }

 private:
  const QueueingExecutable& executable_;
  int handed_out_ = 0;
};

class QueuedRunnerTest : public testing::Test {
 protected:
  double now = 100;
  QueueingExecutable executable;
  SlotBatches batches{executable};
  Runner make(StepObserver observer = nullptr) {
    return {executable, batches, Entry::train, [this] { return now; }, [] { return Usage{}; }, std::move(observer)};
  }
};

TEST_F(QueuedRunnerTest, OneStepRunsWhileTheNextWaits) {
  Runner runner = make();
  const StepBlock& block = runner.steps(7);
  EXPECT_EQ(executable.most_under_way, kQueuedSteps);
  EXPECT_EQ(executable.synchronizations, 2) << "once for the first batch, which nothing covers";
  EXPECT_EQ(executable.under_way(), 0);
  EXPECT_THAT(batches.released, ElementsAre(0, 1, 2, 3, 0, 1, 2));
  EXPECT_EQ(batches.released, executable.finished);
  EXPECT_EQ(block.samples, 28);
  EXPECT_THAT(block.loss, SizeIs(7));
}

TEST_F(QueuedRunnerTest, SlotsWhoseContentsTheDeviceHasDoNotTravelAgain) {
  Runner runner = make();
  runner.steps(7);
  EXPECT_THAT(executable.submitted, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(executable.resubmitted, ElementsAre(0, 1, 2));
}

TEST_F(QueuedRunnerTest, ResidentBatchesTravelBeforeTheFirstStepAndAreQueuedDeeper) {
  batches.resident_batches = true;
  Runner runner = make();
  const StepBlock& block = runner.steps(20);
  EXPECT_GE(kQueuedResidentSteps, 8);
  EXPECT_EQ(executable.most_under_way, kQueuedResidentSteps);
  EXPECT_THAT(executable.submitted, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(executable.resubmitted, SizeIs(20));
  EXPECT_EQ(executable.synchronizations, 2) << "once for the batches on their way";
  EXPECT_EQ(batches.released, executable.finished);
  EXPECT_THAT(block.step_seconds, SizeIs(20));
  runner.steps(3);
  EXPECT_THAT(executable.submitted, SizeIs(4)) << "they stay";
}

TEST_F(QueuedRunnerTest, BlocksAreBounded) {
  Runner runner = make();
  EXPECT_THAT(runner.steps(kBlockSteps + 1).step_seconds, SizeIs(kBlockSteps + 1));
  EXPECT_THROW(runner.steps(kQueuedBlockSteps + 1), std::invalid_argument);
}

TEST_F(QueuedRunnerTest, StepsAreTimedByTheDeviceAndTheWindowByTheHost) {
  executable.seconds = [](std::int64_t step) { return 2.0 + static_cast<double>(step); };
  executable.finish_one = [this] { now += 4; };
  Runner runner = make();
  const StepBlock& block = runner.steps(3);
  EXPECT_THAT(block.step_seconds, ElementsAre(2, 3, 4));
  EXPECT_EQ(block.wall_seconds, 12);
  EXPECT_EQ(block.harness_seconds, 3);  // what the two clocks disagree by
}

TEST_F(QueuedRunnerTest, WaitForDataCountsWhereTheDeviceHadNothingToDo) {
  batches.wait = [this] { now += 1; };
  Runner runner = make();
  const StepBlock& block = runner.steps(4);
  EXPECT_EQ(block.data_wait_seconds, 1);  // the first: later a step was under way
  EXPECT_EQ(block.idle_seconds, 1);
  EXPECT_THAT(block.step_seconds, ElementsAre(6, 5, 5, 5));
}

TEST_F(QueuedRunnerTest, OfAWaitThatAStepPartlyCoversTheDeviceIsIdleForTheRest) {
  batches.wait = [this] { now += 8; };                                        // for each batch
  executable.idle = [](std::int64_t step) { return step == 3 ? 9.0 : 3.0; };  // 5 of the 8 are the step before
  Runner runner = make();
  const StepBlock& block = runner.steps(4);
  EXPECT_EQ(block.data_wait_seconds, 8 + 3 + 3 + 8);  // idle for 9, but no longer than the host waited
  EXPECT_EQ(block.idle_seconds, 8 + 3 + 3 + 9);
}

TEST_F(QueuedRunnerTest, TheWayOfABatchIsAWaitForData) {
  executable.arrival = [](std::int64_t step) { return step < 2 ? 0.5 : 0.0; };
  Runner runner = make();
  const StepBlock& block = runner.steps(4);
  EXPECT_EQ(block.data_wait_seconds, 1);
  EXPECT_EQ(block.idle_seconds, 1);
}

// As of later batches, which travel while the step before theirs runs.
TEST_F(QueuedRunnerTest, TheWayOfTheFirstBatchCountsWhereItIsLongerThanAStep) {
  executable.finish_one = [this] { now += 5; };
  for (const double way : {3.0, 7.0}) {
    executable.arrive = [=, this] { now += way; };
    Runner runner = make();
    const StepBlock& block = runner.steps(2);
    const double uncovered = std::max(0.0, way - 5);
    EXPECT_THAT(block.step_seconds, ElementsAre(5 + uncovered, 5));
    EXPECT_EQ(block.data_wait_seconds, uncovered);
    EXPECT_EQ(block.idle_seconds, uncovered);
    EXPECT_EQ(block.wall_seconds, 10 + uncovered);
    EXPECT_EQ(block.harness_seconds, 0);
    batches.released.clear();
    executable.finished.clear();
  }
}

TEST_F(QueuedRunnerTest, StepsOneByOneLeaveTheDeviceIdleForWhatTheHostTakes) {
  executable.finish_one = [this] { now += 7; };  // the device computes for 5 of them
  Runner runner = make([](InputSlot, double) {});
  EXPECT_EQ(runner.steps(3).idle_seconds, 6);
}

TEST_F(QueuedRunnerTest, ObserverSeesOneStepAfterTheOther) {
  int seen = 0;
  Runner runner = make([&](InputSlot, double) { EXPECT_EQ(executable.finished.size(), static_cast<std::size_t>(++seen)); });
  runner.steps(3);
  EXPECT_EQ(seen, 3);
  EXPECT_EQ(executable.most_under_way, 1);
}

TEST_F(QueuedRunnerTest, LatenciesAreOfOneStepAtATimeWithTheWayOfItsBatch) {
  executable.finish_one = [this] { now += 4; };
  batches.wait = [this] { now += 1; };
  Runner runner = make();
  runner.steps(5);
  executable.submitted.clear();
  executable.most_under_way = 0;
  EXPECT_THAT(runner.latencies(6), testing::AllOf(SizeIs(6), Each(4.0)));
  EXPECT_EQ(executable.most_under_way, 1);
  EXPECT_THAT(executable.submitted, ElementsAre(1, 2, 3, 0, 1, 2)) << "also those that had traveled before";
}

TEST_F(QueuedRunnerTest, NothingIsAllocatedBetweenSteps) {
  std::vector<long> seen;
  seen.reserve(64);
  batches.wait = [&seen] { seen.push_back(allocations); };
  Runner runner = make();
  runner.steps(32);
  ASSERT_THAT(seen, SizeIs(32));
  EXPECT_EQ(seen.back(), seen.front());
}

}  // namespace
}  // namespace epochbench
