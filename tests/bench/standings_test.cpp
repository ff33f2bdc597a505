#include "bench/standings.h"

#include <stdexcept>

#include <gmock/gmock.h>

namespace epochbench::bench {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

TEST(Estimate, IsTheMedianWithinItsInterval) {
  const Estimate e = estimate({5, 1, 2, 4, 3, 100, 0});
  EXPECT_EQ(e.median, 3);
  EXPECT_LE(e.interval.first, 3);
  EXPECT_GE(e.interval.second, 3);
  EXPECT_LT(e.interval.second, 101);
  EXPECT_THROW(estimate({}), std::invalid_argument);
}

TEST(Quotients, CompareTheSameRound) {
  EXPECT_THAT(quotients({8, 9}, {2, 3}), ElementsAre(4, 3));
  EXPECT_THROW(quotients({8, 9}, {2}), std::invalid_argument);
  EXPECT_THAT(rates(12, {3, 4}), ElementsAre(4, 3));
}

TEST(GeometricMean, IsTakenOverProblems) { EXPECT_DOUBLE_EQ(geometric_mean({{1, 100}, {4, 100}, {16, 100}}), 4); }

TEST(Total, WeighsProblemsByTheirCount) {
  EXPECT_EQ(total({{1, 5}, {10, 50}}, {3, 1}), 13);
  EXPECT_EQ(total({{1, 5}, {10, 50}}, {3, 1}, 1), 65);
  EXPECT_EQ(ratio_of_totals({{1, 5}, {10, 50}}, {3, 1}), 5);
  EXPECT_THROW(total({{1, 2}}, {3, 1}), std::invalid_argument);
}

TEST(Summarize, IsMovedByNoTurnThatWasDisturbed) {
  // In every round one of the problems is ten times slower.
  const std::vector<std::vector<Rounds>> problems{{{10, 1, 1, 1, 1}}, {{1, 10, 10, 1, 1}}, {{1, 1, 1, 10, 10}}};
  EXPECT_DOUBLE_EQ(summarize(problems, &geometric_mean).median, 1);
}

TEST(Summarize, StatesAnInterval) {
  const Rounds spread{0.9, 1.0, 1.1, 0.95, 1.05, 0.8, 1.2};
  const Estimate one = summarize({{spread}}, &geometric_mean);
  EXPECT_DOUBLE_EQ(one.median, 1);
  EXPECT_LT(one.interval.first, 1);
  EXPECT_GT(one.interval.second, 1);
  EXPECT_GE(one.interval.first, 0.8);
  EXPECT_LE(one.interval.second, 1.2);
  // Independent problems average their spread out.
  const Estimate many = summarize(std::vector<std::vector<Rounds>>(16, {spread}), &geometric_mean);
  EXPECT_LT(many.interval.second - many.interval.first, 0.5 * (one.interval.second - one.interval.first));
}

TEST(Summarize, DrawsAProblemsFiguresTogether) {
  // Theirs is twice ours in every round, whichever are drawn.
  const Estimate e =
      summarize({{{1, 2, 3, 4, 50}, {2, 4, 6, 8, 100}}}, [](const Medians& m) { return ratio_of_totals(m, {1}); });
  EXPECT_EQ(e.interval, Interval(2, 2));
  EXPECT_THROW(summarize({{{1, 2}, {1}}}, &geometric_mean), std::invalid_argument);
}

TEST(Scaling, IsTheGainOverThatOfThePeak) {
  // Half the time with twice the peak is all there is to gain; as long as before, half of it.
  EXPECT_THAT(scaling({1, 2}, {2, 2}, {200, 200}, {100, 100}), ElementsAre(1, 0.5));
  // A peak that threads do not double asks for less.
  EXPECT_THAT(scaling({1}, {1.5}, {150}, {100}), ElementsAre(1));
}

TEST(Roofline, IsThePeakOrWhatMemoryFeeds) {
  EXPECT_EQ(roofline(1e9, 1e6, 200e9, 30e9), 200e9);
  EXPECT_DOUBLE_EQ(roofline(1e9, 1e9, 200e9, 30e9), 30e9);
}

}  // namespace
}  // namespace epochbench::bench
