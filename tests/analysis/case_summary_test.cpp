// The numbers of a case out of its repetitions: one estimator for what follows from speed, and which runs are repetitions.
#include "src/analysis/case_summary.h"

#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/statistics.h"
#include "support/made_results.h"

namespace epochbench {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// One case with a repetition for each of these rates.
NamedResult repeated(const std::vector<double>& rates) {
  NamedResult named = made_result("r.json", "box", {});
  for (std::size_t i = 0; i < rates.size(); ++i) {
    MadeRun made;
    made.rate = rates[i];
    named.result.runs.push_back(made_run(made, static_cast<int>(i)));
  }
  return named;
}

// With a seed each, as `run --seed 0,1,2` names them.
NamedResult seeded(const std::vector<double>& rates) {
  NamedResult named = repeated(rates);
  for (std::size_t i = 0; i < rates.size(); ++i) {
    epochbench::Run& run = named.result.runs[i];
    run.repetition = 0;
    run.workload.seed = i;
    if (i > 0) rename(run, run.name + "/seed=" + std::to_string(i));
  }
  return named;
}

CaseSummary summary_of(const NamedResult& named) {
  const std::vector<CaseSummary> all = case_summaries(named.result.runs);
  EXPECT_EQ(all.size(), 1u);
  return all.front();
}

TEST(CaseSummary, IsTheGeometricMeanAndWhatFollowsFromIt) {
  const NamedResult named = repeated({50, 200, 100});
  const CaseSummary summary = summary_of(named);
  EXPECT_EQ(summary.name, "resnet50/cpu/fp32/b16");
  EXPECT_DOUBLE_EQ(summary.samples_per_second->value, 100);
  EXPECT_DOUBLE_EQ(summary.step_seconds->value, 0.16);
  EXPECT_DOUBLE_EQ(summary.epoch_seconds->value, 128) << "not 149, the mean of the repetitions' seconds";
  EXPECT_DOUBLE_EQ(summary.cost_per_epoch->value, 128.0 / 3600);
  EXPECT_DOUBLE_EQ(summary.joules_per_epoch->value, 128 * 300);
  EXPECT_DOUBLE_EQ(summary.average_watts->value, 300);
}

TEST(CaseSummary, SpreadsByTheNumberOfRepetitions) {
  const CaseSummary one = summary_of(repeated({100}));
  EXPECT_EQ(one.samples_per_second->spread, Spread::none);
  EXPECT_EQ(one.samples_per_second->count, 1u);
  const CaseSummary four = summary_of(repeated({100, 90, 110, 95}));
  EXPECT_EQ(four.samples_per_second->ends(Spread::range), Interval(90, 110));
  EXPECT_FALSE(four.samples_per_second->ends(Spread::ci95));
  const std::vector<double> rates{100, 90, 110, 95, 105};
  const CaseSummary five = summary_of(repeated(rates));
  EXPECT_EQ(five.samples_per_second->ends(Spread::ci95), geometric_mean_estimate(rates).ci95);
  EXPECT_EQ(five.samples_per_second->count, 5u);
}

// However many steps each has: the spread of steps is not an interval over processes.
TEST(CaseSummary, HasAnIntervalOfFiveProcessesWithFewSteps) {
  NamedResult named = repeated({100, 90, 110, 95, 105});
  for (epochbench::Run& run : named.result.runs) run.timing->step_seconds.resize(3);
  EXPECT_TRUE(summary_of(named).samples_per_second->ends(Spread::ci95));
  EXPECT_FALSE(spread_within_run(named.result.runs[0]));
}

TEST(CaseSummary, CountsSeedsAsRepetitions) {
  const CaseSummary summary = summary_of(seeded({100, 90, 110, 95, 105}));
  EXPECT_EQ(summary.name, "resnet50/cpu/fp32/b16");
  EXPECT_EQ(summary.runs.size(), 5u);
  EXPECT_EQ(summary.samples_per_second->spread, Spread::ci95);
  const NamedResult named = seeded({100, 90, 110});
  EXPECT_EQ(runs_by_name(named.result.runs).size(), 3u) << "for qualities each seed stands alone";
  const std::vector<NamedResult> results{named};
  const AllSeries all = series_of(results);
  ASSERT_EQ(all.series.size(), 1u);
  EXPECT_EQ(all.series[0].name(), "resnet50/cpu/fp32/b16");
  EXPECT_THAT(all.series[0].samples_per_second(), ElementsAre(100, 90, 110));
}

// All repetitions with one seed keep the name that says which.
TEST(CaseSummary, KeepsTheNameOfOneSeed) {
  NamedResult named = repeated({100, 90});
  for (epochbench::Run& run : named.result.runs) rename(run, run.name + "/seed=3");
  EXPECT_EQ(summary_of(named).name, "resnet50/cpu/fp32/b16/seed=3");
}

TEST(CaseSummary, KeepsOtherWorkApart) {
  NamedResult named = repeated({100, 90, 80, 70});
  named.result.runs[1].workload.fingerprint = "other";
  named.result.runs[2].device.name = "Another CPU";
  rename(named.result.runs[3], named.result.runs[3].name + "/threads=1");
  EXPECT_EQ(case_summaries(named.result.runs).size(), 4u);
}

TEST(CaseSummary, LeavesOutWhatIsNotKnown) {
  NamedResult named = repeated({100, 400});
  named.result.runs[0].energy.reset();
  named.result.runs[1].cost->currency = "EUR";
  const CaseSummary summary = summary_of(named);
  EXPECT_DOUBLE_EQ(summary.joules_per_epoch->value, 32 * 300) << "of the repetition that knows it";
  EXPECT_EQ(summary.joules_per_epoch->count, 1u);
  EXPECT_FALSE(summary.cost_per_epoch) << "amounts in two currencies have no mean";
  named.result.runs[0].status = named.result.runs[1].status = RunStatus::failed;
  EXPECT_THAT(case_summaries(named.result.runs), IsEmpty());
}

TEST(SpreadWithinRun, TakesTenSteps) {
  NamedResult named = repeated({100});
  epochbench::Run& run = named.result.runs[0];
  run.timing->step_seconds_ci95 = {0.152, 0.168};
  run.timing->step_seconds.resize(10);
  EXPECT_EQ(spread_within_run(run), Interval(0.152, 0.168));
  EXPECT_NEAR(*relative_spread_within_run(run), 0.05, 1e-12);
  run.timing->step_seconds.resize(9);
  EXPECT_FALSE(spread_within_run(run));
  EXPECT_FALSE(relative_spread_within_run(run));
}

}  // namespace
}  // namespace epochbench
