// The table of figures: what outputs rely on for every row, and how units read.
#include "src/figures/figure.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace epochbench {
namespace {

TEST(Figures, HaveKeysAndTitlesOfTheirOwn) {
  std::set<std::string> keys, titles;
  for (const Figure& each : kFigures) {
    EXPECT_TRUE(keys.insert(each.key).second) << each.key;
    EXPECT_TRUE(titles.insert(each.title).second) << each.title;
    EXPECT_NE(std::string(each.short_title), "") << each.key;
  }
}

// OpenMetrics demands it, and no two families may share a name.
TEST(Figures, HaveMetricsThatEndWithTheUnit) {
  std::set<std::string> metrics;
  for (const Figure& each : kFigures)
    if (each.metric) {
      EXPECT_TRUE(metrics.insert(each.metric).second) << each.metric;
      EXPECT_TRUE(std::string(each.metric).ends_with(each.unit.name)) << each.metric;
    }
}

TEST(Figures, ReadAsTheirUnitsDo) {
  EXPECT_EQ(kStepTime.unit.text(0.00123), "1.23 ms");
  EXPECT_EQ(kThroughput.unit.text(1280.6), "1,281");
  EXPECT_EQ(kPeakShare.unit.text(0.972), "97.2 %");
  EXPECT_EQ(kPeakMemory.unit.text(1536 << 20), "1.50 GiB");
  EXPECT_EQ(kForeignCores.unit.text(0.214), "0.21 cores");
  EXPECT_EQ(kFinalLoss.unit.text(2.3456), "2.35");
  EXPECT_EQ(kEnergy.unit.text(9800), "9.80 kJ");
  EXPECT_EQ(kMeanPower.unit.text(700), "700 W");
  EXPECT_EQ(kEpochCostInUsd.unit.text(0.357), "$0.357");
}

TEST(Figures, OfTheFirstEpochIncludeCompilingAndEvaluation) {
  epochbench::Run run;
  run.timing.emplace().epoch_seconds = 162;
  run.timing->compile_seconds = 23.6;
  EXPECT_DOUBLE_EQ(*kFirstEpochTime.value(run), 185.6);
  EXPECT_FALSE(kFirstEpochCost.value(run)) << "no price";
  run.cost = Cost{3600.0, 162.0 * 3600, {}, "user"};
  EXPECT_DOUBLE_EQ(*kFirstEpochCost.value(run), 185.6);
  run.timing->evaluation_seconds = 6;
  run.quality.emplace().eval_history = {0.5, 0.6, 0.7};
  EXPECT_DOUBLE_EQ(*kFirstEpochTime.value(run), 187.6) << "one of three evaluations";
  run.cost->currency = "EUR";
  EXPECT_FALSE(kFirstEpochCost.value(run));
}

TEST(Figures, OfAWholeInstanceAreKnownForAShareAlone) {
  epochbench::Run run;
  run.cost = Cost{0.1, 5, {}, "catalog: aws c7a.4xlarge us-east-1 2026-01-19, price for 16 cores, 2 used"};
  EXPECT_DOUBLE_EQ(*kWholeEpochCost.value(run), 40);
  run.cost->price_source = "user";
  EXPECT_FALSE(kWholeEpochCost.value(run));
}

TEST(Figures, OfAnUnknownNumberAreUnknown) {
  const epochbench::Run run;
  for (const Figure& each : kFigures) EXPECT_FALSE(each.value(run)) << each.key;
}

}  // namespace
}  // namespace epochbench
