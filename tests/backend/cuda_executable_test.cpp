// Steps of the CUDA executable on a fake device: losses, waits between streams, slots, timing.
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/cuda_tiny_executable.h"

namespace epochbench {
namespace {

using test::Expected;
using test::FakeDevice;
using test::kCopyStream;
using test::kSeeds;
using test::Tiny;

TEST(CudaExecutable, LossesMatchTheHostInEveryOrder) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed)
    for (int running : {0, 1, kInputSlots - 1}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", in flight " + std::to_string(running));
      Tiny tiny(seed);
      Expected expected;
      train(tiny, expected, 25, running);
      EXPECT_EQ(tiny.losses(), expected.losses);
      std::vector<float> w(1), step(1);
      tiny.executable->read("w", w);
      tiny.executable->read("step", step);
      EXPECT_EQ(w[0], expected.w);
      EXPECT_EQ(step[0], 25);
    }
}

TEST(CudaExecutable, EvaluationSharesTheWeightsAndTheRing) {
  Tiny tiny;
  Expected expected;
  for (int i = 0; i < 6; ++i) {
    tiny.stage(i % kInputSlots, static_cast<float>(i), 1);
    tiny.executable->submit(i % kInputSlots);
    tiny.executable->run(i % 3 == 2 ? Entry::evaluate : Entry::train);
    expected.step(static_cast<float>(i), 1, i % 3 != 2);
    tiny.executable->await(kInputSlots - 1);
  }
  tiny.executable->synchronize();
  std::vector<StepRecord> records;
  tiny.executable->drain(records);
  ASSERT_EQ(records.size(), 6u);
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].entry, i % 3 == 2 ? Entry::evaluate : Entry::train);
    EXPECT_EQ(records[i].loss, expected.losses[i]);
  }
  EXPECT_EQ(records[2].correct, -0.5 * (0 + 1));
  EXPECT_EQ(records[1].correct, 0);
}

// A batch that waits for its slot, a batch that a step waits for, and steps in flight.
std::vector<double> losses_with_slots_taken_early(std::uint64_t seed, std::int64_t dropped_wait,
                                                  std::int64_t* waits = nullptr) {
  Tiny tiny(seed);
  const std::int64_t before = tiny.device->counts().binding_waits;
  if (dropped_wait > 0) tiny.device->drop_wait(dropped_wait);
  for (int i = 0; i < 6; ++i) {
    tiny.stage(i % 2, static_cast<float>(1 << i), i % 4);
    tiny.executable->submit(i % 2);
    tiny.executable->run(Entry::train);
    if (i % 2 == 0) continue;
    tiny.executable->await(1);
    tiny.device->run_stream(kCopyStream);  // so that the host side of both slots is free
  }
  tiny.executable->synchronize();
  if (waits) *waits = tiny.device->counts().binding_waits - before;
  return tiny.losses();
}

TEST(CudaExecutable, EveryWaitBetweenStreamsIsNeeded) {
  Expected expected;
  for (int i = 0; i < 6; ++i) expected.step(static_cast<float>(1 << i), i % 4);
  std::int64_t waits = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    std::int64_t of_seed = 0;
    EXPECT_EQ(losses_with_slots_taken_early(seed, 0, &of_seed), expected.losses) << "seed " << seed;
    waits = std::max(waits, of_seed);
  }
  ASSERT_GE(waits, 6);
  for (std::int64_t dropped = 1; dropped <= waits; ++dropped) {
    bool found = false;
    for (std::uint64_t seed = 0; seed < 20 * kSeeds && !found; ++seed)
      found = losses_with_slots_taken_early(seed, dropped) != expected.losses;
    EXPECT_TRUE(found) << "wait " << dropped << " of " << waits << " can be removed unnoticed";
  }
}

TEST(CudaExecutable, ASlotIsOverwrittenOnlyWhenItsStepIsDone) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Tiny tiny(seed);
    Expected expected;
    for (int i = 0; i < 5; ++i) {  // all in one slot; the host side is free once its copy has run
      tiny.stage(2, static_cast<float>(i + 1), i % 4);
      expected.step(static_cast<float>(i + 1), i % 4);
      tiny.executable->submit(2);
      tiny.executable->run(Entry::train);
      while (tiny.device->busy(kCopyStream)) tiny.device->run_some();
    }
    tiny.executable->synchronize();
    EXPECT_EQ(tiny.losses(), expected.losses) << "seed " << seed;
  }
}

TEST(CudaExecutable, AStepAllocatesNothingAndMakesTheHostWaitForNothing) {
  Tiny tiny;
  tiny.stage(0, 1, 0);
  const FakeDevice::Counts before = tiny.device->counts();
  const std::int64_t held = tiny.device->held();
  for (int i = 0; i < CudaExecutable::kStepsUnderWay; ++i) {
    tiny.executable->submit(0);
    tiny.executable->run(i % 2 == 0 ? Entry::train : Entry::evaluate);
  }
  const FakeDevice::Counts& after = tiny.device->counts();
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_EQ(after.waits_of_host, before.waits_of_host);
  EXPECT_EQ(after.graph_launches, before.graph_launches + CudaExecutable::kStepsUnderWay);
  EXPECT_EQ(after.copies, before.copies + CudaExecutable::kStepsUnderWay);
  EXPECT_EQ(tiny.device->held(), held);
  EXPECT_EQ(tiny.executable->under_way(), CudaExecutable::kStepsUnderWay - static_cast<int>(tiny.losses().size()));
}

TEST(CudaExecutable, ARateThatIsSetIsThatOfTheStepsToComeAndNothingWaits) {
  constexpr int kSteps = 3 * CudaExecutable::kStepsUnderWay;  // the values' memory is used again
  for (bool captures : {true, false})
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      Tiny tiny(seed, captures);
      std::vector<double> expected;
      float w = 0;
      std::int64_t waits = 0, copies = 0;
      tiny.stage(0, 1, 0);
      tiny.executable->submit(0);
      for (int i = 0; i < kSteps; ++i) {
        const FakeDevice::Counts before = tiny.device->counts();
        const float rate = static_cast<float>(i % 5) / 4;
        tiny.executable->set("learning_rate", rate);
        waits += tiny.device->counts().waits_of_host - before.waits_of_host;
        copies += tiny.device->counts().copies - before.copies;
        tiny.executable->run(Entry::train);
        expected.push_back(1 + w);
        w -= rate;
      }
      tiny.executable->synchronize();
      EXPECT_EQ(waits, 0);
      EXPECT_EQ(copies, kSteps);
      EXPECT_EQ(tiny.losses(), expected) << "seed " << seed;
    }
}

TEST(CudaExecutable, SettingsWithoutStepsBetweenThemKeepTheLast) {
  Tiny tiny;
  for (int i = 0; i < 1000; ++i) tiny.executable->set("learning_rate", static_cast<float>(i));
  std::vector<float> rate(1);
  tiny.executable->read("learning_rate", rate);
  EXPECT_EQ(rate[0], 999);
  EXPECT_THROW(tiny.executable->set("step", 1), std::invalid_argument);
  EXPECT_THROW(tiny.executable->set("table", 1), std::invalid_argument);
  EXPECT_THROW(tiny.executable->set("nothing", 1), std::invalid_argument);
}

TEST(CudaExecutable, WithoutCaptureStepsAreEnqueuedAndGiveTheSameLosses) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Tiny tiny(seed, false);
    Expected expected;
    const FakeDevice::Counts before = tiny.device->counts();
    const std::int64_t held = tiny.device->held();
    train(tiny, expected, 25, 2);
    EXPECT_EQ(tiny.losses(), expected.losses) << "seed " << seed;
    tiny.executable->profile(Entry::train, 3);
    EXPECT_EQ(tiny.device->counts().graph_launches, 0);
    EXPECT_EQ(tiny.device->counts().allocations - before.allocations, 7) << "only the events of the profile";
    EXPECT_EQ(tiny.device->held(), held);
  }
}

TEST(CudaExecutable, AFullRingWaitsForTheOldestStep) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    Tiny tiny(seed);
    Expected expected;
    tiny.stage(0, 1, 2);
    tiny.executable->submit(0);
    for (int i = 0; i < 5 * CudaExecutable::kStepsUnderWay; ++i) {
      tiny.executable->run(Entry::train);
      expected.step(1, 2);
    }
    EXPECT_LE(tiny.executable->under_way(), CudaExecutable::kStepsUnderWay);
    tiny.executable->synchronize();
    EXPECT_EQ(tiny.executable->under_way(), 0);
    EXPECT_EQ(tiny.losses(), expected.losses) << "seed " << seed;
  }
}

TEST(CudaExecutable, AResubmittedSlotIsNotCopiedAgain) {
  Tiny tiny;
  Expected expected;
  for (InputSlot slot : {0, 1}) {
    tiny.stage(slot, static_cast<float>(slot + 1), slot);
    tiny.executable->submit(slot);
  }
  const std::int64_t copies = tiny.device->counts().copies;
  for (int i = 0; i < 8; ++i) {
    tiny.executable->resubmit(i % 2);
    tiny.executable->run(Entry::train);
    expected.step(static_cast<float>(i % 2 + 1), i % 2);
  }
  tiny.executable->synchronize();
  EXPECT_EQ(tiny.device->counts().copies, copies);
  EXPECT_EQ(tiny.losses(), expected.losses);
}

TEST(CudaExecutable, SynchronizeWaitsForBatchesOnTheirWay) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Tiny tiny(seed);
    for (InputSlot slot = 0; slot < kInputSlots; ++slot) {
      tiny.stage(slot, static_cast<float>(slot), slot);
      tiny.executable->submit(slot);
    }
    tiny.executable->synchronize();
    EXPECT_FALSE(tiny.device->busy(kCopyStream));
    Expected expected;
    for (InputSlot slot = 0; slot < kInputSlots; ++slot) {
      tiny.executable->resubmit(slot);
      tiny.executable->run(Entry::train);
      expected.step(static_cast<float>(slot), slot);
    }
    tiny.executable->synchronize();
    std::vector<StepRecord> records;
    tiny.executable->drain(records);
    ASSERT_EQ(records.size(), expected.losses.size());
    for (std::size_t i = 0; i < records.size(); ++i) {
      EXPECT_EQ(records[i].loss, expected.losses[i]) << "seed " << seed;
      EXPECT_EQ(records[i].arrival_seconds, 0);
    }
  }
}

TEST(CudaExecutable, TimesStepsFromThePreviousEndOrFromRunAfterIdleTime) {
  Tiny tiny;
  tiny.stage(0, 1, 0);
  tiny.executable->submit(0);
  tiny.device->run_stream(kCopyStream);
  constexpr double kPause = 0.25, kStep = 6 * FakeDevice::kSecondsOfWork;  // row, sum, loss, update, count and the scalars
  const double begin = tiny.device->seconds();
  for (double pause : {0.0, kPause}) {
    tiny.device->pass(pause);  // idle and synchronized
    tiny.executable->run(Entry::train);
    tiny.executable->run(Entry::train);
    tiny.executable->await(0);
    tiny.device->pass(kPause);  // a gap
    tiny.executable->run(Entry::train);
    tiny.executable->synchronize();
  }
  std::vector<StepRecord> records;
  tiny.executable->drain(records);
  ASSERT_EQ(records.size(), 6u);
  for (std::size_t i : {0u, 1u, 3u, 4u}) EXPECT_NEAR(records[i].device_seconds, kStep, 1e-9) << i;
  for (std::size_t i : {2u, 5u}) EXPECT_NEAR(records[i].device_seconds, kPause + kStep, 1e-9) << i;
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(records[i].idle_seconds, i % 3 == 2 ? kPause : 0, 1e-9) << i;  // a gap; not known before the first step
    EXPECT_EQ(records[i].arrival_seconds, 0) << i;  // the batch had arrived or was not submitted again
  }
  double sum = kPause;  // the idle time
  for (const StepRecord& record : records) sum += record.device_seconds;
  EXPECT_NEAR(sum, tiny.device->seconds() - begin, 1e-9);
}

TEST(CudaExecutable, RecordsHowLongAStepWaitsForItsBatch) {
  constexpr double kCopy = FakeDevice::kSecondsOfWork;
  double arrivals = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {  // the copy may run before or after the step starts
    Tiny tiny(seed);
    tiny.stage(0, 1, 0);
    tiny.executable->submit(0);
    tiny.executable->run(Entry::train);
    tiny.executable->synchronize();
    std::vector<StepRecord> records;
    tiny.executable->drain(records);
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].idle_seconds, 0);
    if (records[0].arrival_seconds > 0) {
      EXPECT_NEAR(records[0].arrival_seconds, kCopy, 1e-9);
    }
    EXPECT_NEAR(records[0].device_seconds, 6 * FakeDevice::kSecondsOfWork + records[0].arrival_seconds, 1e-9);
    arrivals += records[0].arrival_seconds;
  }
  EXPECT_GT(arrivals, 0);
}

}  // namespace
}  // namespace epochbench
