// Change points of constructed and simulated series: what is found, where, and how often nothing is taken for something.
#include "src/analysis/compare/change_points.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace epochbench {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Levels of logarithms of times, each for so many points.
std::vector<double> levels(const std::vector<std::pair<std::size_t, double>>& parts) {
  std::vector<double> series;
  for (const auto& [count, level] : parts) series.insert(series.end(), count, level);
  return series;
}

std::vector<double> with_noise(std::vector<double> series, double deviation, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, deviation);
  for (double& value : series) value += normal(random);
  return series;
}

std::vector<std::size_t> indices(const std::vector<ChangePoint>& points) {
  std::vector<std::size_t> all;
  for (const ChangePoint& point : points) all.push_back(point.index);
  return all;
}

bool near(std::size_t found, std::size_t true_place, std::size_t tolerance) {
  return found + tolerance >= true_place && found <= true_place + tolerance;
}

TEST(ChangePoints, OfCleanLevelsAreExact) {
  const auto points = change_points(levels({{10, -6.0}, {5, -5.9}, {12, -6.1}}));
  ASSERT_THAT(indices(points), ElementsAre(10, 15));
  EXPECT_DOUBLE_EQ(points[0].before, -6.0);
  EXPECT_DOUBLE_EQ(points[0].after, -5.9);
  EXPECT_NEAR(points[1].after, -6.1, 1e-12);
  EXPECT_LT(points[0].p_value, 1e-12);
}

TEST(ChangePoints, OfOneLevelAreNone) {
  EXPECT_THAT(change_points(levels({{50, -0.1}})), IsEmpty());
  EXPECT_THAT(change_points(levels({{30, 0.6931471805599453}, {30, 0.6931471805599453 + 1e-12}})), IsEmpty())
      << "the last bits of a logarithm are not a change";
}

TEST(ChangePoints, NeedThreePointsOnEitherSide) {
  EXPECT_THAT(change_points(std::vector<double>{}), IsEmpty());
  EXPECT_THAT(change_points(std::vector<double>{0, 1, 2}), IsEmpty());
  EXPECT_THAT(change_points(std::vector<double>{0, 0, 0, 1, 1}), IsEmpty());
  EXPECT_THAT(indices(change_points(std::vector<double>{0, 0, 0, 1, 1, 1})), ElementsAre(3));
  EXPECT_THAT(indices(change_points(levels({{20, 0}, {3, 0.5}, {20, 0}}))), ElementsAre(20, 23));
  EXPECT_THAT(change_points(levels({{20, 0}, {2, 0.5}, {20, 0}})), IsEmpty()) << "two points are outliers";
}

TEST(ChangePoints, OfMirroredAndShiftedSeriesAreTheSame) {
  const auto series = with_noise(levels({{30, 0}, {30, 0.04}, {20, 0.01}}), 0.01, 3);
  std::vector<double> mirrored, shifted;
  for (const double value : series) {
    mirrored.push_back(-value);
    shifted.push_back(value - 7);
  }
  const auto found = indices(change_points(series));
  EXPECT_EQ(found.size(), 2u);
  EXPECT_EQ(indices(change_points(mirrored)), found);
  EXPECT_EQ(indices(change_points(shifted)), found);
}

TEST(ChangePoints, RefuseMoreThanTheyHaveMemoryFor) {
  EXPECT_THROW(change_points(std::vector<double>(kMaxPoints + 1, 0)), std::invalid_argument);
}

// 3 % in noise of 1 %, as between quiet processes.
TEST(ChangePoints, FindAStep) {
  int found = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const auto points = change_points(with_noise(levels({{40, 0}, {40, std::log(1.03)}}), 0.01, seed));
    found += points.size() == 1 && near(points[0].index, 40, 2);
  }
  RecordProperty("found_of_200", found);
  EXPECT_GE(found, 180);
}

TEST(ChangePoints, FindTwoStepsAndAPlateauThatIsLeftSoon) {
  int two = 0, plateau = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const auto steps = change_points(with_noise(levels({{30, 0}, {25, 0.05}, {30, 0.10}}), 0.01, seed));
    two += steps.size() == 2 && near(steps[0].index, 30, 1) && near(steps[1].index, 55, 1);
    const auto edges = change_points(with_noise(levels({{50, 0}, {5, 0.05}, {45, 0}}), 0.01, seed));
    plateau += edges.size() == 2 && near(edges[0].index, 50, 1) && near(edges[1].index, 55, 1);
  }
  RecordProperty("two_of_200", two);
  RecordProperty("plateau_of_200", plateau);
  EXPECT_GE(two, 180);
  EXPECT_GE(plateau, 180);
}

// How many series of `points` points without any change are said to have one.
template <typename Noise>
int false_alarms(int series, std::size_t points, Noise noise) {
  int alarms = 0;
  for (int i = 0; i < series; ++i) {
    std::mt19937_64 random(static_cast<unsigned>(i));
    std::vector<double> values(points);
    for (double& value : values) value = 0.01 * noise(random);
    alarms += !change_points(values).empty();
  }
  return alarms;
}

TEST(ChangePoints, AreSeldomSeenInNoise) {
  const int normal = false_alarms(1000, 50, [](auto& random) { return std::normal_distribution<double>()(random); });
  const int heavy = false_alarms(1000, 50, [](auto& random) { return std::student_t_distribution<double>(3)(random); });
  const int few = false_alarms(1000, 12, [](auto& random) { return std::normal_distribution<double>()(random); });
  RecordProperty("normal_of_1000", normal);
  RecordProperty("heavy_of_1000", heavy);
  RecordProperty("few_points_of_1000", few);
  EXPECT_LE(normal, 50);
  EXPECT_LE(heavy, 50);
  EXPECT_LE(few, 50);
}

// Nights on which something else doubled the times: one of 25 points.
TEST(ChangePoints, AreNotMadeOfOutliers) {
  int alarms = 0, found = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const auto disturbed = [&](double change) {
      auto series = with_noise(levels({{50, 0}, {50, change}}), 0.01, seed);
      for (const std::size_t place : {7, 31, 66, 90}) series[(place + seed) % 100] += 0.7;
      return series;
    };
    alarms += !change_points(disturbed(0)).empty();
    const auto points = change_points(disturbed(0.05));
    found += points.size() == 1 && near(points[0].index, 50, 2);
  }
  RecordProperty("outlier_alarms_of_200", alarms);
  RecordProperty("found_beside_outliers_of_200", found);
  EXPECT_LE(alarms, 10);
  EXPECT_GE(found, 150);
}

// 0.3 % a commit from the 40th to the 69th.
std::vector<double> creeping(unsigned seed) {
  std::vector<double> series(100);
  for (std::size_t i = 0; i < series.size(); ++i)
    series[i] = 0.003 * static_cast<double>(std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(i) - 39, 0, 30));
  return with_noise(series, 0.005, seed);
}

TEST(LevelChanges, FindWhereACreepBegan) {
  int found = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    const auto changes = level_changes(creeping(seed));
    found += changes.size() == 1 && changes[0].kind == ChangeKind::creep && near(changes[0].begin, 40, 4) &&
             near(changes[0].end, 69, 4) && std::fabs(changes[0].after - changes[0].before - 0.09) < 0.01;
  }
  RecordProperty("found_of_100", found);
  EXPECT_GE(found, 90);
}

TEST(LevelChanges, TellStepsFromCreeps) {
  int step = 0, stairs = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    const auto one = level_changes(with_noise(levels({{40, 0}, {40, 0.05}}), 0.01, seed));
    step += one.size() == 1 && one[0].kind == ChangeKind::step && near(one[0].begin, 40, 1);
    const auto two = level_changes(with_noise(levels({{30, 0}, {30, 0.05}, {30, 0.10}}), 0.01, seed));
    stairs += two.size() == 2 && two[0].kind == ChangeKind::step && two[1].kind == ChangeKind::step;
  }
  RecordProperty("step_of_100", step);
  RecordProperty("stairs_of_100", stairs);
  EXPECT_GE(step, 90);
  EXPECT_GE(stairs, 90);
}

TEST(LevelChanges, OfACleanRampAreItsEnds) {
  std::vector<double> series(60);
  for (std::size_t i = 0; i < series.size(); ++i)
    series[i] = 0.01 * static_cast<double>(std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(i) - 19, 0, 10));
  const auto changes = level_changes(series);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].kind, ChangeKind::creep);
  EXPECT_EQ(changes[0].begin, 20u);
  EXPECT_EQ(changes[0].end, 29u);
  EXPECT_NEAR(changes[0].before, 0, 1e-9);
  EXPECT_NEAR(changes[0].after, 0.1, 1e-9);
}

TEST(LevelChanges, KeepTheStepThatEndsARise) {
  const auto changes = level_changes(with_noise(levels({{20, 0}, {20, 0.05}, {20, -0.02}}), 0.005, 5));
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_GT(changes[0].after, changes[0].before);
  EXPECT_LT(changes[1].after, changes[1].before);
}

}  // namespace
}  // namespace epochbench
