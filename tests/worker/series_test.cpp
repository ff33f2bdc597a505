// The series of a run have a maximum, and say what they leave out.
#include <numeric>

#include <gmock/gmock.h>

#include "src/worker/run_totals.h"

namespace epochbench {
namespace {

using testing::ElementsAre;
using testing::Optional;
using testing::SizeIs;

epochbench::Run run_of(std::size_t steps, std::size_t warm_up) {
  RunTotals totals;
  totals.ready.samples_per_epoch = 100;
  StepBlock block;
  block.step_seconds.resize(warm_up, 9);
  block.loss.resize(warm_up, 3);
  totals.add_warm_up(block);
  block.step_seconds.resize(steps);
  std::iota(block.step_seconds.begin(), block.step_seconds.end(), 1.0);
  block.loss = block.step_seconds;
  block.samples = 1;
  totals.add_timed(block);
  epochbench::Run run;
  totals.fill(run, 0);
  return run;
}

TEST(Series, KeepTheFirstStepsAndCountTheOthers) {
  epochbench::Run run = run_of(7, 2);
  const Timing whole = *run.timing;
  shorten_series(run, 4);
  EXPECT_THAT(run.timing->step_seconds, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(run.timing->step_seconds_left_out, Optional(3));
  EXPECT_EQ(run.timing->steps(), 7);
  EXPECT_EQ(run.timing->step_seconds_median, whole.step_seconds_median) << "of all steps";
  EXPECT_EQ(run.timing->steps_total_seconds, 28);
  EXPECT_THAT(run.quality->loss, ElementsAre(3, 3, 1, 2));
  EXPECT_THAT(run.quality->loss_left_out, Optional(5));
  EXPECT_THAT(run.quality->final_loss, Optional(7));
}

TEST(Series, ThrottledStepsAreAmongThoseThatAreKept) {
  epochbench::Run run = run_of(7, 0);
  run.gpu.emplace().throttled_steps = 5;
  run.gpu->throttled_step_ranges = {{0, 0}, {2, 4}, {6, 6}};
  shorten_series(run, 4);
  EXPECT_THAT(*run.gpu->throttled_step_ranges, ElementsAre(testing::Pair(0, 0), testing::Pair(2, 3)));
  EXPECT_THAT(run.gpu->throttled_steps, Optional(5)) << "of all";
}

TEST(Series, OfAUsualRunAreWhole) {
  epochbench::Run run = run_of(kKeptSeriesSteps, 0);
  run.latency = latency_of({1, 2, 3});
  shorten_series(run);
  EXPECT_THAT(run.timing->step_seconds, SizeIs(kKeptSeriesSteps));
  EXPECT_FALSE(run.timing->step_seconds_left_out || run.quality->loss_left_out || run.latency->step_seconds_left_out);
  EXPECT_EQ(run.timing->steps(), static_cast<std::int64_t>(kKeptSeriesSteps));
}

TEST(Series, OfLatenciesLikewise) {
  epochbench::Run run;
  run.latency = latency_of({3, 1, 2});
  shorten_series(run, 2);
  EXPECT_THAT(run.latency->step_seconds, ElementsAre(3, 1));
  EXPECT_THAT(run.latency->step_seconds_left_out, Optional(1));
  EXPECT_EQ(run.latency->samples, 3);
}

}  // namespace
}  // namespace epochbench
