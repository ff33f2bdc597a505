// The runner on a device that queues steps: what is under way, what travels, and what the host waits for.
#include <gmock/gmock.h>

#include "src/worker/runner.h"
#include "tests/support/allocations.h"
#include "tests/support/fake_batches.h"
#include "tests/support/fake_executable.h"

namespace epochbench {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;

// A device that works behind the caller's back: a step is done when somebody waits for it, and then took `seconds` by the
// device's own clock.
class QueueingExecutable : public test::FakeExecutable {
 public:
  std::function<double(std::int64_t step)> seconds = [](std::int64_t) { return 5.0; };
  std::function<double(std::int64_t step)> idle = [](std::int64_t) { return 0.0; }, arrival = idle;  // before the step itself
  std::function<void()> finish_one = [] {};  // the host's time that waiting for a step takes
  std::function<void()> arrive = [] {};      // the same for a batch, where no step is under way
  std::vector<InputSlot> resubmitted, finished;
  int max_under_way = 0, synchronizations = 0;

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
    max_under_way = std::max(max_under_way, under_way());
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
  EXPECT_EQ(executable.max_under_way, kQueuedSteps);
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
  EXPECT_EQ(executable.max_under_way, kQueuedResidentSteps);
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
  EXPECT_EQ(executable.max_under_way, 1);
}

TEST_F(QueuedRunnerTest, LatenciesAreOfOneStepAtATimeWithTheWayOfItsBatch) {
  executable.finish_one = [this] { now += 4; };
  batches.wait = [this] { now += 1; };
  Runner runner = make();
  runner.steps(5);
  executable.submitted.clear();
  executable.max_under_way = 0;
  EXPECT_THAT(runner.latencies(6).step_seconds, testing::AllOf(SizeIs(6), Each(4.0)));
  EXPECT_EQ(executable.max_under_way, 1);
  EXPECT_THAT(executable.submitted, ElementsAre(1, 2, 3, 0, 1, 2)) << "also those that had traveled before";
}

TEST_F(QueuedRunnerTest, NothingIsAllocatedBetweenSteps) {
  std::vector<std::int64_t> seen;
  seen.reserve(64);
  batches.wait = [&seen] { seen.push_back(test::allocations()); };
  Runner runner = make();
  runner.steps(32);
  ASSERT_THAT(seen, SizeIs(32));
  EXPECT_EQ(seen.back(), seen.front());
  EXPECT_GT(test::allocations(), 0);
}

}  // namespace
}  // namespace epochbench
