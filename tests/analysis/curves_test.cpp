// Curves out of results: their points, the best, where they flatten and where they cross.
#include "src/analysis/sweep/curves.h"

#include <cmath>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/made_curves.h"

namespace epochbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;
using testing::Pair;

// Five repetitions around a rate, `spread` apart at most: an interval of about 1.3 times the spread to either side.
std::vector<double> five(double rate, double spread = 0.01) {
  return {rate * (1 - spread), rate * (1 - spread / 2), rate, rate * (1 + spread / 2), rate * (1 + spread)};
}

// One repetition a batch, of 1, 2, 4 ...
Curve curve_of(const std::string& backend, const std::vector<double>& rates) {
  static std::vector<std::unique_ptr<Result>> kept;  // curves point into them
  kept.push_back(std::make_unique<Result>());
  for (std::size_t i = 0; i < rates.size(); ++i) add(*kept.back(), made_batch(backend, "fp32", 1 << i, {rates[i]}));
  return curves_of(*kept.back(), Axis::batch).at(0);
}

TEST(Curves, AreRunsThatDifferInTheBatchAlone) {
  Result result;
  add(result, made_batch("cpu", "fp32", 64, {10, 11}));
  add(result, made_batch("cpu", "fp32", 8, {5}));
  add(result, made_batch("cpu", "bf16", 8, {6}));
  add(result, made_batch("cuda", "fp32", 8, {50}));
  result.runs.push_back(made_point("cuda", "fp32", 8, 40, "/device=cuda:1"));
  result.runs.push_back(made_point("cpu", "fp32", 8, 3, "/threads=1"));
  result.runs.push_back(failed(made_point("cpu", "fp32", 128, 1), RunStatus::out_of_memory));
  result.runs.push_back(failed(made_point("cpu", "fp32", 256, 1), RunStatus::skipped));
  const std::vector<Curve> curves = curves_of(result, Axis::batch);
  ASSERT_EQ(curves.size(), 5u);
  EXPECT_EQ(curves[0].name, "m/cpu/fp32");
  ASSERT_EQ(curves[0].points.size(), 3u) << "a skipped run is not a point";
  EXPECT_EQ(curves[0].points[0].value, 8);
  EXPECT_THAT(curves[0].points[1].rates, ElementsAre(10, 11));
  EXPECT_EQ(curves[0].points[2].value, 128) << "a failed run is one";
  EXPECT_TRUE(curves[0].points[2].rates.empty());
  EXPECT_EQ(curves[1].name, "m/cpu/bf16");
  EXPECT_EQ(curves[2].device, "cuda:0");
  EXPECT_EQ(curves[3].device, "cuda:1");
  EXPECT_EQ(curves[4].name, "m/cpu/fp32/threads=1");
}

TEST(Curves, OverThreadsKnowTheDefaultToo) {
  Result result;
  result.runs.push_back(made_point("cpu", "fp32", 8, 20));
  result.runs.push_back(made_point("cpu", "fp32", 8, 10, "/seed=1/threads=1"));
  result.runs.push_back(made_point("cpu", "fp32", 8, 10, "/threads=1"));
  add(result, made_batch("cuda", "fp32", 8, {100}));
  const std::vector<Curve> curves = curves_of(result, Axis::threads);
  ASSERT_EQ(curves.size(), 1u) << "a GPU has no threads";
  EXPECT_EQ(curves[0].name, "m/cpu/fp32/b8");
  ASSERT_EQ(curves[0].points.size(), 2u);
  EXPECT_EQ(curves[0].points[0].rates.size(), 2u) << "another seed is a repetition";
}

TEST(Curves, OverWidthCountFlops) {
  Result result;
  result.runs.push_back(made_point("cpu", "fp32", 8, 20, "", "mlp:depth=3,width=64"));
  result.runs.push_back(made_point("cpu", "fp32", 8, 10, "", "mlp:depth=3"));
  result.runs[1].workload.options = {{"depth", 3}, {"width", 512}};
  const std::vector<Curve> curves = curves_of(result, Axis::width);
  ASSERT_EQ(curves.size(), 1u);
  EXPECT_EQ(curves[0].name, "mlp:depth=3/cpu/fp32/b8");
  EXPECT_EQ(curves[0].points[0].value, 64) << "out of the name, where a file has no options";
  EXPECT_EQ(curves[0].points[1].value, 512);
  EXPECT_THAT(curves[0].points[0].rates, ElementsAre(20e9));
}

TEST(Curves, OverSamplesCountTheWholeProcess) {
  Result result;
  result.runs.push_back(made_point("cpu", "fp32", 8, 20, "/epoch-samples=80"));
  result.runs[0].workload.samples_per_epoch = 80;
  result.runs[0].timing->wall_seconds = 16;
  result.runs[0].cost = Cost{1.0, 3.0, 7.0, "user"};
  const std::vector<Curve> curves = curves_of(result, Axis::samples);
  EXPECT_EQ(curves.at(0).name, "m/cpu/fp32/b8");
  EXPECT_EQ(curves[0].points[0].value, 80);
  EXPECT_THAT(curves[0].points[0].rates, ElementsAre(10)) << "20 steps of 8 in 16 s";
  EXPECT_THAT(curves[0].points[0].usd, ElementsAre(7));
}

TEST(Curves, LeaveOutNumbersThatAreNone) {
  Result result;
  add(result, made_batch("cpu", "fp32", 8, {0, -1, 1e308, std::nan("")}));
  result.runs.push_back(made_point("cpu", "fp32", 16, 5));
  result.runs.back().throughput.reset();
  result.runs.back().cost = Cost{0.0, 0.0, 0.0, "user"};
  const std::vector<Curve> curves = curves_of(result, Axis::batch);
  EXPECT_THAT(curves.at(0).points.at(0).rates, ElementsAre(1e308));
  EXPECT_TRUE(curves[0].points.at(1).rates.empty());
  EXPECT_TRUE(curves[0].points[1].usd.empty()) << "a price of nothing is not a cost";
  EXPECT_TRUE(curves_of(Result{}, Axis::batch).empty());
}

TEST(Best, IsTheHighestRateAndTellsWhatMayBeAsHigh) {
  Result result;
  add(result, made_batch("cpu", "fp32", 1, five(50)));
  add(result, made_batch("cpu", "fp32", 2, five(99.5)));
  add(result, made_batch("cpu", "fp32", 4, five(100)));
  add(result, made_batch("cpu", "fp32", 8, five(98.9)));
  add(result, made_batch("cpu", "fp32", 16, five(90)));
  const CurveBest best = best_of(curves_of(result, Axis::batch).at(0));
  EXPECT_EQ(best.value, 4);
  EXPECT_NEAR(*best.rate, 100, 0.01);
  EXPECT_THAT(best.indistinguishable, Optional(ElementsAre(2, 8)));
  EXPECT_FALSE(best.reason);
}

TEST(Best, OfTwoThatAreAsFastIsEstimatedByTheHalvesThatDidNotChooseThem) {
  Result result;
  add(result, made_batch("cpu", "fp32", 1, {110, 90, 110, 90, 110}));
  add(result, made_batch("cpu", "fp32", 2, {95, 108, 95, 108, 95}));
  const CurveBest best = best_of(curves_of(result, Axis::batch).at(0));
  EXPECT_EQ(best.value, 1);
  EXPECT_NEAR(*best.rate, std::pow(95 * 95 * 95 * 90 * 90.0, 0.2), 1e-9);
  EXPECT_THAT(best.indistinguishable, Optional(ElementsAre(2)));
  EXPECT_THAT(best.reason.value_or(""), testing::StartsWith("1 is as fast as 2: "));
}

TEST(Best, HasAReasonWhereSomethingIsMissing) {
  const CurveBest one = best_of(curve_of("cpu", {1, 3, 2}));
  EXPECT_EQ(one.value, 2);
  EXPECT_FALSE(one.indistinguishable);
  EXPECT_EQ(one.reason,
            "an interval takes 5 repetitions per point (--repetitions 5); there is 1; 2 was chosen as the fastest of 3 by the "
            "repetitions that estimate it, so it may look too fast (--repetitions 2 avoids that)");
  Result alone;
  add(alone, made_batch("cpu", "fp32", 4, five(100)));
  const CurveBest only = best_of(curves_of(alone, Axis::batch).at(0));
  EXPECT_EQ(only.value, 4);
  EXPECT_FALSE(only.indistinguishable) << "there is nothing to compare with";
  EXPECT_EQ(only.reason, "only one value was measured");
  Result result;
  result.runs.push_back(failed(made_batch("cpu", "fp32", 1, {1})[0], RunStatus::failed));
  const CurveBest none = best_of(curves_of(result, Axis::batch).at(0));
  EXPECT_FALSE(none.value);
  EXPECT_EQ(none.reason, "no point was measured");
}

TEST(Flattening, IsTheSmallestValueWithinFivePercentOfTheBest) {
  EXPECT_EQ(flattening_of(curve_of("cpu", {10, 50, 94.9, 95.1, 100, 99})).value, 8);
  EXPECT_EQ(flattening_of(curve_of("cpu", {95, 100, 100})).value, 1) << "5 % are within 5 %";
  EXPECT_EQ(flattening_of(curve_of("cpu", {94.99, 100, 100})).value, 2);
  EXPECT_EQ(flattening_of(curve_of("cpu", {100, 50, 20})).value, 1);
  EXPECT_EQ(flattening_of(curve_of("cpu", {7, 7, 7})).value, 1) << "flat from the beginning";
}

TEST(Flattening, IsNotSeenOnACurveThatStillRises) {
  const CurveFlattening rising = flattening_of(curve_of("cpu", {10, 20, 40, 80}));
  EXPECT_FALSE(rising.value);
  EXPECT_FALSE(rising.range);
  EXPECT_EQ(rising.reason, "still rising at 8, the largest value that was measured");
  EXPECT_EQ(flattening_of(curve_of("cpu", {10})).reason, "only one value was measured");
}

TEST(Flattening, RangeHoldsEveryValueThatMayBeTheOne) {
  Result result;
  add(result, made_batch("cpu", "fp32", 1, five(80)));    // surely not within 5 %
  add(result, made_batch("cpu", "fp32", 2, five(94.5)));  // perhaps
  add(result, made_batch("cpu", "fp32", 4, five(95.5)));  // perhaps
  add(result, made_batch("cpu", "fp32", 8, five(98)));    // surely
  add(result, made_batch("cpu", "fp32", 16, five(100)));
  const CurveFlattening flattening = flattening_of(curves_of(result, Axis::batch).at(0));
  EXPECT_EQ(flattening.value, 4);
  EXPECT_THAT(flattening.range, Optional(Pair(2, 8)));
}

TEST(Flattening, OfALastValueThatMayNotBeTheFirstIsInDoubt) {
  Result result;
  add(result, made_batch("cpu", "fp32", 1, five(80)));
  add(result, made_batch("cpu", "fp32", 2, five(94.5)));
  add(result, made_batch("cpu", "fp32", 4, five(100)));
  const CurveFlattening flattening = flattening_of(curves_of(result, Axis::batch).at(0));
  EXPECT_FALSE(flattening.value);
  EXPECT_THAT(flattening.range, Optional(Pair(2, 4)));
  EXPECT_EQ(flattening.reason, "perhaps still rising at 4, the largest value that was measured");
}

// In logarithms of value and ratio the curves are straight: contender / baseline = (batch / at)^power.
std::pair<Curve, Curve> crossing_at(double at, double power) {
  std::vector<double> baseline, contender;
  for (int i = 0; i < 8; ++i) {
    baseline.push_back(100);
    contender.push_back(100 * std::pow(std::pow(2, i) / at, power));
  }
  return {curve_of("cpu", baseline), curve_of("cuda", contender)};
}

TEST(Crossings, LieWhereTheCurvesAreEqual) {
  for (const double at : {1.5, 11.0, 100.0})
    for (const double power : {0.5, 2.0, -1.0}) {
      const auto [baseline, contender] = crossing_at(at, power);
      const auto found = crossings(baseline, contender, CrossingIn::time);
      ASSERT_EQ(found.size(), 1u);
      EXPECT_NEAR(*found[0].value, at, 1e-9 * at);
      EXPECT_EQ(found[0].better_above, power > 0 ? "m/cuda/fp32" : "m/cpu/fp32");
      EXPECT_LT(found[0].between->first, at);
      EXPECT_GT(found[0].between->second, at);
      EXPECT_EQ(found[0].between->second, 2 * found[0].between->first);
      EXPECT_FALSE(found[0].ci95);
      EXPECT_THAT(found[0].reason, Optional(HasSubstr("5 repetitions")));
    }
}

TEST(Crossings, OfSeveralAllAreListed) {
  const auto found = crossings(curve_of("cpu", {10, 10, 10, 10}), curve_of("cuda", {5, 20, 5, 20}), CrossingIn::time);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_NEAR(*found[1].value, std::sqrt(8), 1e-9);
  EXPECT_EQ(found[1].better_above, "m/cpu/fp32");
}

TEST(Crossings, AtAPointWhereBothAreEqual) {
  const auto crosses = crossings(curve_of("cpu", {10, 10, 10}), curve_of("cuda", {5, 10, 20}), CrossingIn::time);
  ASSERT_EQ(crosses.size(), 1u);
  EXPECT_DOUBLE_EQ(*crosses[0].value, 2);
  EXPECT_THAT(crosses[0].between, Optional(Pair(1, 4)));
  const auto touches = crossings(curve_of("cpu", {10, 10, 10}), curve_of("cuda", {5, 10, 5}), CrossingIn::time);
  EXPECT_FALSE(touches.at(0).value);
}

std::string why_none(const Curve& baseline, const Curve& contender, CrossingIn in = CrossingIn::time) {
  const auto found = crossings(baseline, contender, in);
  EXPECT_EQ(found.size(), 1u);
  EXPECT_FALSE(found[0].value || found[0].between || found[0].ci95 || found[0].better_above);
  return found[0].reason.value_or("");
}

TEST(Crossings, AreNotMadeUp) {
  const Curve flat = curve_of("cpu", {10, 10, 10});
  EXPECT_EQ(why_none(flat, curve_of("cuda", {20, 20, 11})), "no crossing between 1 and 4: m/cuda/fp32 is faster throughout");
  EXPECT_EQ(why_none(flat, curve_of("cuda", {9, 8, 9})), "no crossing between 1 and 4: m/cpu/fp32 is faster throughout");
  EXPECT_EQ(why_none(flat, curve_of("cuda", {10, 10, 10})), "no crossing between 1 and 4: neither is faster throughout");
  EXPECT_EQ(why_none(flat, curve_of("cuda", {20})), "only 1 was measured on both: m/cuda/fp32 is faster there");
  EXPECT_EQ(why_none(flat, curve_of("cuda", {9, 9, 9}), CrossingIn::cost), "no price is known for m/cpu/fp32");
}

TEST(Crossings, PassOverPointsThatFailed) {
  Result result;
  for (const std::int64_t batch : {1, 2, 4, 8}) add(result, made_batch("cpu", "fp32", batch, {10}));
  for (const std::int64_t batch : {1, 2, 4}) add(result, made_batch("cuda", "fp32", batch, {batch * 4.0}));
  result.runs[5] = failed(result.runs[5], RunStatus::failed);  // cuda b2
  result.runs.push_back(failed(made_batch("cuda", "fp32", 8, {1})[0], RunStatus::out_of_memory));
  const auto curves = curves_of(result, Axis::batch);
  const auto found = crossings(curves.at(0), curves.at(1), CrossingIn::time);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(*found[0].value, 2.5, 1e-9) << "between 1 and 4, in logarithms";
  EXPECT_THAT(found[0].between, Optional(Pair(1, 4)));
}

TEST(Crossings, InCostLieWhereAnEpochCostsTheSame) {
  Result result;
  for (const std::int64_t batch : {1, 2, 4, 8}) {
    add(result, made_batch("cpu", "fp32", batch, {10}));
    result.runs.back().cost = Cost{1.0, 6.0, 9.0, "user"};
    add(result, made_batch("cuda", "fp32", batch, {100}));
    result.runs.back().cost = Cost{1.0, 24.0 / static_cast<double>(batch), 1.0, "user"};
  }
  const auto curves = curves_of(result, Axis::batch);
  const auto found = crossings(curves.at(0), curves.at(1), CrossingIn::cost);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(*found[0].value, 4, 1e-9);
  EXPECT_EQ(found[0].in, CrossingIn::cost);
  EXPECT_EQ(found[0].better_above, "m/cuda/fp32");
}

TEST(Crossings, HaveAnIntervalThatEndsWhereTheCurvesAreSurelyApart) {
  Result result;
  const auto contender = [](std::int64_t batch) { return 100 * std::pow(static_cast<double>(batch) / 11, 0.1); };
  for (const std::int64_t batch : {1, 2, 4, 8, 16, 32, 64}) {
    add(result, made_batch("cpu", "fp32", batch, five(100, 0.03)));
    add(result, made_batch("cuda", "fp32", batch, five(contender(batch), 0.03)));
  }
  const auto curves = curves_of(result, Axis::batch);
  const auto found = crossings(curves.at(0), curves.at(1), CrossingIn::time);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(*found[0].value, 11, 0.01);
  ASSERT_TRUE(found[0].ci95);
  // The ratio's interval is about 1.035 to either side: reached at 11 * 1.035^(1 / 0.1) and its inverse.
  EXPECT_NEAR(found[0].ci95->first, 11 / std::pow(1.035, 10), 1.5);
  EXPECT_NEAR(found[0].ci95->second, 11 * std::pow(1.035, 10), 3);
  EXPECT_FALSE(found[0].reason);
}

TEST(Crossings, HaveNoIntervalWhereTheMeasuredValuesEndFirst) {
  Result result;
  for (const std::int64_t batch : {1, 2}) {
    add(result, made_batch("cpu", "fp32", batch, five(100)));
    add(result, made_batch("cuda", "fp32", batch, five(batch == 1 ? 99.9 : 150)));
  }
  const auto curves = curves_of(result, Axis::batch);
  const auto found = crossings(curves.at(0), curves.at(1), CrossingIn::time);
  ASSERT_TRUE(found.at(0).value);
  EXPECT_FALSE(found[0].ci95);
  EXPECT_THAT(found[0].reason, Optional(HasSubstr("end of the measured values")));
}

TEST(Answers, CompareWithTheCpuAndWithFp32) {
  Result result;
  for (const char* precision : {"fp32", "bf16"})
    for (const char* backend : {"cpu", "cuda"})
      for (const std::int64_t batch : {1, 2}) add(result, made_batch(backend, precision, batch, {10.0 * batch}));
  const SweepAnswers answers = answers_of(result, Axis::batch);
  EXPECT_EQ(answers.over, Axis::batch);
  EXPECT_EQ(answers.best.size(), 4u);
  EXPECT_EQ(answers.flattens_at.size(), 4u);
  EXPECT_TRUE(answers.crossover.empty());
  std::vector<std::string> pairs;
  for (const Crossing& crossing : answers.no_crossover)
    if (crossing.in == CrossingIn::time) pairs.push_back(crossing.baseline + " " + crossing.contender);
  EXPECT_THAT(pairs, testing::UnorderedElementsAre("m/cpu/fp32 m/cuda/fp32", "m/cpu/fp32 m/cpu/bf16", "m/cpu/fp32 m/cuda/bf16",
                                                   "m/cuda/fp32 m/cuda/bf16", "m/cpu/bf16 m/cuda/bf16"));
  for (auto& run : result.runs)
    if (run.device.backend == BackendKind::cpu && run.precision == Precision::bf16) run.device.products = Precision::fp32;
  for (const Crossing& crossing : answers_of(result, Axis::batch).no_crossover)
    EXPECT_FALSE(crossing.baseline == "m/cpu/bf16" && crossing.contender == "m/cuda/bf16") << "products in fp32 and in bf16";
  EXPECT_TRUE(answers.scaling.empty());
  EXPECT_TRUE(answers_of(Result{}, Axis::threads).best.empty());
}

}  // namespace
}  // namespace epochbench
