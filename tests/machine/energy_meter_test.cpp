// Sums of counters that go round, fall or stand still, and of power.
#include <gmock/gmock.h>

#include "src/machine/energy.h"

namespace epochbench {
namespace {

using testing::HasSubstr;

constexpr double kRange = 262143.32885;  // joules, of many Intel packages

TEST(CounterSum, AddsWhatRoseWithinWindowsAlone) {
  CounterSum sum(kRange);
  sum.begin(10, 1000);
  sum.advance(11, 1100);
  sum.advance(12, 1250);
  sum.begin(100, 9000);  // what was drawn in between does not count
  sum.advance(101, 9050);
  EXPECT_FALSE(sum.drawn().obstacle);
  EXPECT_DOUBLE_EQ(sum.drawn().joules, 300);
}

TEST(CounterSum, GoesRoundAtItsRange) {
  CounterSum sum(kRange);
  sum.begin(0, kRange - 30);
  sum.advance(0.5, 20);
  sum.advance(1, 70);
  EXPECT_FALSE(sum.drawn().obstacle);
  EXPECT_NEAR(sum.drawn().joules, 100, 1e-9);
}

TEST(CounterSum, GoesRoundAgainAndAgain) {
  CounterSum sum(2000.0);
  double reading = 0, now = 0;
  sum.begin(now, reading);
  for (int i = 0; i < 1000; ++i) {
    reading += 45;
    now += 0.1;
    if (reading >= 2000) reading -= 2000;
    sum.advance(now, reading);
  }
  EXPECT_FALSE(sum.drawn().obstacle);
  EXPECT_NEAR(sum.drawn().joules, 45000, 1e-6);
}

TEST(CounterSum, AFallThatIsNoRoundIsAReset) {
  CounterSum sum(kRange);
  sum.begin(0, 100000);
  sum.advance(0.1, 100020);
  sum.advance(0.2, 3);
  EXPECT_THAT(sum.drawn().obstacle.value_or(""), HasSubstr("was reset: it went from 1e+05 J to 3 J within 0.1 s"));
  sum.begin(1, 10);
  sum.advance(1.1, 12);
  EXPECT_TRUE(sum.drawn().obstacle) << "an obstacle stays";
}

TEST(CounterSum, WithoutARangeEveryFallIsAReset) {
  CounterSum sum(std::nullopt);
  sum.begin(0, 10);
  sum.advance(0.1, 9.9);
  EXPECT_THAT(sum.drawn().obstacle.value_or(""), HasSubstr("was reset"));
}

TEST(CounterSum, ARiseBeyondAnyPowerIsAReset) {
  CounterSum sum(kRange);
  sum.begin(0, 10);
  sum.advance(1, 10 + 2 * kMaxWatts);
  EXPECT_THAT(sum.drawn().obstacle.value_or(""), HasSubstr("was reset"));
}

TEST(CounterSum, ARenewalBetweenTwoCloseReadingsIsNone) {
  CounterSum sum(std::nullopt);
  sum.begin(0, 1000);
  sum.advance(1e-6, 1070);  // 100 ms of 700 W, all at once
  EXPECT_FALSE(sum.drawn().obstacle);
  EXPECT_DOUBLE_EQ(sum.drawn().joules, 70);
}

TEST(CounterSum, ReadTooSeldomToTellHowOftenItWentRound) {
  CounterSum sum(kRange);
  sum.begin(0, 1000);
  sum.advance(60, 2000);  // 60 s of kMaxWatts are more than the range
  EXPECT_THAT(sum.drawn().obstacle.value_or(""), HasSubstr("was not read for 60 s"));
  CounterSum endless(std::nullopt);
  endless.begin(0, 1000);
  endless.advance(3600, 2000);
  EXPECT_FALSE(endless.drawn().obstacle);
}

TEST(CounterSum, TheFirstObstacleIsReported) {
  CounterSum sum(kRange);
  sum.fail("it is gone");
  sum.fail("it is back");
  sum.begin(0, 5);
  sum.advance(1, 6);
  EXPECT_EQ(sum.drawn().obstacle, "it is gone");
}

TEST(PowerSum, IntegratesStraightLinesExactly) {
  PowerSum sum;
  sum.begin(0, 100);
  sum.advance(0.5, 200);
  sum.advance(1, 300);
  sum.begin(5, 1000);  // the gap between windows is not power
  sum.advance(5.1, 1000);
  EXPECT_FALSE(sum.drawn().obstacle);
  EXPECT_NEAR(sum.drawn().joules, 200 + 100, 1e-9);
}

TEST(PowerSum, AGapIsNotBridged) {
  PowerSum sum;
  sum.begin(0, 100);
  sum.advance(1.5, 100);
  EXPECT_THAT(sum.drawn().obstacle.value_or(""), HasSubstr("was not read for 1.5 s"));
}

}  // namespace
}  // namespace epochbench
