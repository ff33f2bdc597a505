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

TEST(GeometricMeans, AreTakenOverProblemsRoundByRound) {
  EXPECT_THAT(geometric_means({{1, 2}, {4, 8}, {16, 32}}), ElementsAre(DoubleNear(4, 1e-12), DoubleNear(8, 1e-12)));
  EXPECT_THAT(geometric_means({}), ElementsAre());
  EXPECT_THROW(geometric_means({{1, 2}, {3}}), std::invalid_argument);
}

TEST(Totals, WeighProblemsByTheirCount) {
  EXPECT_THAT(totals({{1, 2}, {10, 20}}, {3, 1}), ElementsAre(13, 26));
  EXPECT_THROW(totals({{1, 2}}, {3, 1}), std::invalid_argument);
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
