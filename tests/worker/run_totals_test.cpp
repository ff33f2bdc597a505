// What the parent adds up over the blocks of a run.
#include "src/worker/run_totals.h"

#include <gmock/gmock.h>

namespace epochbench {
namespace {

using testing::DoubleNear;
using testing::Optional;

StepBlock block_with(double own, std::optional<double> busy) {
  StepBlock block;
  block.step_seconds = {own};
  block.loss = {1.0};
  block.usage.own_cpu_seconds = own;
  block.usage.busy_cpu_seconds = busy;
  return block;
}

TEST(RunTotals, ForeignTimeIsWhatOthersTook) {
  RunTotals totals;
  totals.add_timed(block_with(1, 1.25));
  totals.add_timed(block_with(2, 2.5));
  EXPECT_THAT(totals.foreign_cpu_seconds(), Optional(DoubleNear(0.75, 1e-12)));
}

TEST(RunTotals, ForeignTimeIsUnknownWhereTheCountersStandStill) {
  RunTotals still, absent, short_run;
  still.add_timed(block_with(1, 0));
  EXPECT_EQ(still.foreign_cpu_seconds(), std::nullopt);
  absent.add_timed(block_with(1, std::nullopt));
  EXPECT_EQ(absent.foreign_cpu_seconds(), std::nullopt);
  short_run.add_timed(block_with(0.05, 0.02));  // shorter than the counters' ticks
  EXPECT_TRUE(short_run.foreign_cpu_seconds());
}

TEST(RunTotals, StoppedStepsAreLeftOutAndNamed) {
  RunTotals totals;
  totals.add_warm_up(block_with(5, std::nullopt));
  StepBlock block;
  block.loss = {3, 2, 1};
  block.step_seconds = {1, 50, 2};
  block.samples = 30;
  block.wall_seconds = 54;
  block.stopped = {1};
  totals.add_timed(block);
  totals.add_timed(block);
  EXPECT_THAT(totals.step_seconds(), testing::ElementsAre(1, 2, 1, 2));
  EXPECT_THAT(totals.losses(), testing::SizeIs(7));
  EXPECT_DOUBLE_EQ(totals.rate(), 40 / 6.0);
  EXPECT_DOUBLE_EQ(totals.wall_seconds(), 8);
  epochbench::Run run;
  totals.fill(run, 2);
  EXPECT_THAT(run.timing->stopped_steps, testing::ElementsAre(1, 4));
  EXPECT_EQ(run.timing->warmup_steps, 1) << "stopped steps do not count as warm-up";
  EXPECT_DOUBLE_EQ(run.timing->epoch_seconds, 4.5) << "3 steps of 1.5 s";
  block.loss.clear();  // as in mode forward
  EXPECT_NO_THROW(totals.add_timed(block));
  block.stopped = {3};
  EXPECT_THROW(totals.add_timed(block), ProtocolError);
}

}  // namespace
}  // namespace epochbench
