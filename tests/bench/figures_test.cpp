#include "bench/figures.h"

#include <cmath>
#include <stdexcept>

#include <gmock/gmock.h>

#include "src/base/statistics.h"

namespace epochbench::bench {
namespace {

using ::testing::ElementsAre;

TEST(Estimate, OfOneProcessIsTheMedianWithinTheRangeOfItsRounds) {
  const GroupEstimate e = estimate({{5, 1, 2, 4, 3, 100, 0.5}});
  EXPECT_EQ(e.value, 3);
  EXPECT_EQ(e.interval, std::pair(0.5, 100.0));
  EXPECT_EQ(e.spread, Spread::range);
  EXPECT_THROW(estimate(Figure{}), std::invalid_argument);
  EXPECT_THROW(estimate(Figure{{}}), std::invalid_argument);
}

TEST(Estimate, OfProcessesIsAnIntervalFromFiveOn) {
  // The rounds of a process count as one number, whatever their spread.
  const auto process = [](double x) { return std::vector<double>{x / 50, x, 70 * x}; };
  const GroupEstimate four = estimate(Figure{process(1), process(2), process(2), process(4)});
  EXPECT_EQ(four.spread, Spread::range);
  EXPECT_DOUBLE_EQ(four.value, 2);
  EXPECT_EQ(four.interval, std::pair(1.0, 4.0));
  const GroupEstimate five = estimate(Figure{process(1), process(2), process(2), process(2), process(4)});
  EXPECT_EQ(five.spread, Spread::ci95);
  EXPECT_DOUBLE_EQ(five.value, 2);
  // Logarithms to base 2: -1, 0, 0, 0, 1, so a standard error of sqrt(0.5 / 5), and t of 4 degrees is 2.776.
  EXPECT_NEAR(five.interval.first, 2 * std::exp2(-2.776 * std::sqrt(0.1)), 1e-3);
  EXPECT_NEAR(five.interval.second, 2 * std::exp2(2.776 * std::sqrt(0.1)), 1e-3);
}

TEST(Quotient, ComparesTheSameRound) {
  EXPECT_THAT(quotient({{8, 9}, {1}}, {{2, 3}, {4}}), ElementsAre(ElementsAre(4, 3), ElementsAre(0.25)));
  EXPECT_THROW(quotient({{8, 9}}, Figure{{2}}), std::invalid_argument);
  EXPECT_THROW(quotient({{8, 9}}, {{2, 3}, {2, 3}}), std::invalid_argument);
  EXPECT_THAT(rate(12, {{3, 4}}), ElementsAre(ElementsAre(4, 3)));
}

TEST(Combined, NoDisturbedTurnMovesIt) {
  // In every round one of the works is ten times slower.
  const std::vector<Figure> works{{{10, 1, 1, 1, 1}}, {{1, 10, 10, 1, 1}}, {{1, 1, 1, 10, 10}}};
  const GroupEstimate e = estimate(works, geometric_mean);
  EXPECT_DOUBLE_EQ(e.value, 1);
  EXPECT_EQ(e.spread, Spread::none) << "rounds of one process support no interval of a whole";
}

TEST(Combined, IsOneNumberPerProcess) {
  // The geometric mean of each process is 2, though each work differs between processes.
  const Figure one{{1}, {2}, {4}, {1}, {2}}, other{{4}, {2}, {1}, {4}, {2}};
  const GroupEstimate e = estimate({one, other}, geometric_mean);
  EXPECT_EQ(e.spread, Spread::ci95);
  EXPECT_DOUBLE_EQ(e.value, 2);
  EXPECT_NEAR(e.interval.second - e.interval.first, 0, 1e-9);
}

TEST(Scaling, IsTheGainOverThatOfThePeak) {
  // Half the time with twice the peak is all there is to gain; as long as before, half of it.
  EXPECT_THAT(scaling({{1, 2}}, {{2, 2}}, {{200, 200}}, {{100, 100}}), ElementsAre(ElementsAre(1, 0.5)));
  // A peak that threads do not double asks for less.
  EXPECT_THAT(scaling(Figure{{1}}, Figure{{1.5}}, Figure{{150}}, Figure{{100}}), ElementsAre(ElementsAre(1)));
}

TEST(Roofline, IsThePeakOrWhatMemoryFeeds) {
  EXPECT_EQ(roofline(1e9, 1e6, 200e9, 30e9), 200e9);
  EXPECT_DOUBLE_EQ(roofline(1e9, 1e9, 200e9, 30e9), 30e9);
}

}  // namespace
}  // namespace epochbench::bench
