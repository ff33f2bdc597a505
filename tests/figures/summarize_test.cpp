// The numbers of a case out of its repetitions: one estimator for what follows from speed, and which runs are repetitions.
#include "src/figures/summarize.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/analysis/series.h"
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

RunGroup only_case(const NamedResult& named) {
  const std::vector<RunGroup> all = measured_cases(named.result.runs);
  EXPECT_EQ(all.size(), 1u);
  return all.front();
}

std::optional<GroupEstimate> summary_of(const NamedResult& named, const Figure& figure = kThroughput) {
  return summarize(only_case(named).runs, figure);
}

TEST(CaseSummary, IsTheGeometricMeanAndWhatFollowsFromIt) {
  const NamedResult named = repeated({50, 200, 100});
  EXPECT_EQ(only_case(named).name, "resnet50/cpu/fp32/b16");
  EXPECT_DOUBLE_EQ(summary_of(named)->value, 100);
  EXPECT_DOUBLE_EQ(summary_of(named, kStepTime)->value, 0.16);
  EXPECT_DOUBLE_EQ(summary_of(named, kEpochTime)->value, 128) << "not 149, the mean of the repetitions' seconds";
  EXPECT_DOUBLE_EQ(summary_of(named, kEpochCost)->value, 128.0 / 3600);
  EXPECT_DOUBLE_EQ(summary_of(named, kEnergy)->value, 128 * 300);
  EXPECT_DOUBLE_EQ(summary_of(named, kMeanPower)->value, 300);
}

TEST(CaseSummary, SpreadsByTheNumberOfRepetitions) {
  const NamedResult one = repeated({100}), four = repeated({100, 90, 110, 95});
  EXPECT_EQ(summary_of(one)->spread, Spread::none);
  EXPECT_EQ(summary_of(one)->count, 1u);
  EXPECT_EQ(summary_of(four)->ends(Spread::range), Interval(90, 110));
  EXPECT_FALSE(summary_of(four)->ends(Spread::ci95));
  const std::vector<double> rates{100, 90, 110, 95, 105};
  const NamedResult five = repeated(rates);
  EXPECT_EQ(summary_of(five)->ends(Spread::ci95), geometric_mean_estimate(rates).ci95);
  EXPECT_EQ(summary_of(five)->count, 5u);
}

// However many steps each has: the spread of steps is not an interval over processes.
TEST(CaseSummary, HasAnIntervalOfFiveProcessesWithFewSteps) {
  NamedResult named = repeated({100, 90, 110, 95, 105});
  for (epochbench::Run& run : named.result.runs) run.timing->step_seconds.resize(3);
  EXPECT_TRUE(summary_of(named)->ends(Spread::ci95));
  EXPECT_FALSE(spread_within_run(named.result.runs[0]));
}

TEST(CaseSummary, CountsSeedsAsRepetitions) {
  const NamedResult five = seeded({100, 90, 110, 95, 105});
  EXPECT_EQ(only_case(five).name, "resnet50/cpu/fp32/b16");
  EXPECT_EQ(only_case(five).runs.size(), 5u);
  EXPECT_EQ(summary_of(five)->spread, Spread::ci95);
  const NamedResult named = seeded({100, 90, 110});
  EXPECT_EQ(runs_by_name(named.result.runs).size(), 3u) << "for qualities each seed stands alone";
  const std::vector<NamedResult> results{named};
  const AllSeries all = series_of(results);
  ASSERT_EQ(all.series.size(), 1u);
  EXPECT_EQ(all.series[0].name(), "resnet50/cpu/fp32/b16");
  EXPECT_THAT(all.series[0].rates(), ElementsAre(100, 90, 110));
}

// All repetitions with one seed keep the name that says which.
TEST(CaseSummary, KeepsTheNameOfOneSeed) {
  NamedResult named = repeated({100, 90});
  for (epochbench::Run& run : named.result.runs) rename(run, run.name + "/seed=3");
  EXPECT_EQ(only_case(named).name, "resnet50/cpu/fp32/b16/seed=3");
}

TEST(CaseSummary, KeepsOtherWorkApart) {
  NamedResult named = repeated({100, 90, 80, 70});
  named.result.runs[1].workload.fingerprint = "other";
  named.result.runs[2].device.name = "Another CPU";
  rename(named.result.runs[3], named.result.runs[3].name + "/threads=1");
  EXPECT_EQ(measured_cases(named.result.runs).size(), 4u);
}

TEST(CaseSummary, LeavesOutWhatIsNotKnown) {
  NamedResult named = repeated({100, 400});
  named.result.runs[0].energy.reset();
  named.result.runs[1].cost->currency = "EUR";
  const RunGroup repetitions = only_case(named);
  EXPECT_DOUBLE_EQ(summarize(repetitions.runs, kEnergy)->value, 32 * 300) << "of the repetition that knows it";
  EXPECT_EQ(summarize(repetitions.runs, kEnergy)->count, 1u);
  EXPECT_FALSE(summarize(repetitions.runs, kEpochCost)) << "amounts in two currencies have no mean";
  named.result.runs[1].status = RunStatus::failed;
  EXPECT_DOUBLE_EQ(summarize(repetitions.runs, kThroughput)->value, 100) << "of the repetition that is ok";
  named.result.runs[0].status = RunStatus::failed;
  EXPECT_FALSE(summarize(repetitions.runs, kThroughput));
  EXPECT_THAT(measured_cases(named.result.runs), IsEmpty());
}

TEST(CaseSummary, PoolsEachFigureInItsWay) {
  NamedResult named = repeated({100, 400});
  for (std::size_t i : {0u, 1u}) {
    epochbench::Run& run = named.result.runs[i];
    run.memory.emplace().peak_bytes = i == 0 ? 10 : 40;
    run.efficiency.emplace().data_wait_fraction = i == 0 ? 0 : 0.5;
  }
  EXPECT_DOUBLE_EQ(summary_of(named, kPeakMemory)->value, 40) << "the greatest";
  EXPECT_DOUBLE_EQ(summary_of(named, figure("data_wait_fraction"))->value, 0.25) << "the mean, as one is 0";
  EXPECT_EQ(summary_of(named, kPeakMemory)->spread, Spread::none) << "only a geometric mean has a spread";
}

TEST(KnownEnergy, IsThatOfAllPartsOrOfTheOnlyOne) {
  NamedResult named = repeated({100});
  Energy& energy = named.result.runs[0].energy.emplace();
  EXPECT_FALSE(known_energy(only_case(named).runs).joules_per_epoch);
  energy.cpu_joules_per_epoch = 3;
  EXPECT_STREQ(known_energy(only_case(named).runs).part, "CPU");
  energy.joules_per_epoch = 10;
  EXPECT_DOUBLE_EQ(known_energy(only_case(named).runs).joules_per_epoch->value, 10);
  EXPECT_STREQ(known_energy(only_case(named).runs).part, "");
}

TEST(SpreadWithinRun, TakesTenSteps) {
  NamedResult named = repeated({100});
  epochbench::Run& run = named.result.runs[0];
  run.timing->step_seconds_ci95 = {0.152, 0.168};
  run.timing->step_seconds.resize(10);
  EXPECT_EQ(spread_within_run(run), Interval(0.152, 0.168));
  EXPECT_NEAR(*kStepSpread.value(run), 0.05, 1e-12);
  run.timing->step_seconds.resize(9);
  EXPECT_FALSE(spread_within_run(run));
  EXPECT_FALSE(kStepSpread.value(run));
}

}  // namespace
}  // namespace epochbench
