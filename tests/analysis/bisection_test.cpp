// The search of `bisect`: what it measures next, what it makes of commits that cannot be measured, and how often it errs.
#include "src/analysis/compare/bisection.h"

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace epochbench {
namespace {

constexpr double kSlowdown = 0.04;
const double kMiddle = std::log1p(kSlowdown) / 2;

std::vector<double> equal_pairs(std::size_t count, double value) { return std::vector<double>(count, value); }

TEST(BisectLevel, IsKnownAfterTheFirstLookWherePairsAgree) {
  EXPECT_EQ(level_of(equal_pairs(8, 0.0), kMiddle, 40).level, Level::fast);
  EXPECT_EQ(level_of(equal_pairs(8, 0.04), kMiddle, 40).level, Level::slow);
}

TEST(BisectLevel, WantsPairsUpToTheNextLook) {
  EXPECT_EQ(level_of({}, kMiddle, 40).wanted, 8u);
  std::vector<double> split = equal_pairs(8, 0.0);
  split[3] = 0.04;  // all eight must agree at the first look
  EXPECT_EQ(level_of(split, kMiddle, 40).level, Level::unknown);
  EXPECT_EQ(level_of(split, kMiddle, 40).wanted, 12u);
  split.resize(11, 0.0);
  EXPECT_EQ(level_of(split, kMiddle, 40).wanted, 12u);
}

TEST(BisectLevel, OfTheMiddleItselfStaysUndecided) {
  std::vector<double> both;
  for (int i = 0; i < 100; ++i) both.push_back(kMiddle + (i % 2 == 0 ? 0.01 : -0.01));
  EXPECT_EQ(level_of(std::span(both).first(20), kMiddle, 40).wanted, 40u);
  EXPECT_EQ(level_of(std::span(both).first(40), kMiddle, 40).level, Level::undecided);
  EXPECT_EQ(level_of(std::span(both).first(40), kMiddle, 100).wanted, 100u);
  EXPECT_EQ(level_of(both, kMiddle, 100).level, Level::undecided);
}

TEST(BisectLevel, DoesNotDependOnPairsAfterTheLookThatDecided) {
  std::vector<double> changed = equal_pairs(8, 0.0);
  changed.resize(40, 0.1);
  EXPECT_EQ(level_of(changed, kMiddle, 40).level, Level::fast);
}

// A line of commits: `slow` is the first slow one, and those in `broken` cannot be measured.
class Line {
 public:
  Line(std::size_t commits, std::size_t slow, std::vector<std::size_t> broken, double noise = 0, std::uint64_t seed = 1)
      : known_(commits), slow_(slow), broken_(std::move(broken)), noise_(noise), random_(seed) {}

  Bisection search(std::size_t max_pairs = kMaxBisectPairs) {
    while (true) {
      const Bisection state = bisect(known_, kMiddle, max_pairs);
      if (!state.next) return state;
      BisectedCommit& commit = known_[*state.next];
      if (std::ranges::find(broken_, *state.next) != broken_.end()) commit.skipped = true;
      while (!commit.skipped && commit.log_ratios.size() < state.pairs) {
        commit.log_ratios.push_back((*state.next >= slow_ ? std::log1p(kSlowdown) : 0) + noise_ * heavy_(random_));
        ++pairs_;
      }
    }
  }
  std::size_t pairs() const { return pairs_; }

 private:
  std::vector<BisectedCommit> known_;
  std::size_t slow_, pairs_ = 0;
  std::vector<std::size_t> broken_;
  double noise_;
  std::mt19937_64 random_;
  std::student_t_distribution<double> heavy_{3};
};

TEST(Bisect, FindsTheCulpritWhereverItIs) {
  for (std::size_t slow = 0; slow < 24; ++slow) {
    Line line(24, slow, {});
    const Bisection end = line.search();
    EXPECT_EQ(end.first_slow, slow);
    EXPECT_EQ(end.suspects(), 1u);
    EXPECT_LE(line.pairs(), 5u * 8u) << slow;
  }
}

TEST(Bisect, OfOneCommitMeasuresNone) {
  const Bisection end = Line(1, 0, {}).search();
  EXPECT_EQ(end.first_slow, 0u);
  EXPECT_EQ(end.suspects(), 1u);
  EXPECT_FALSE(end.last_fast);
}

TEST(Bisect, PassesOverWhatCannotBeMeasured) {
  for (std::size_t slow = 0; slow < 23; ++slow) {
    const std::vector<std::size_t> broken{6, 7, 15};
    const Bisection end = Line(24, slow, broken).search();
    const std::size_t first = end.first_slow + 1 - end.suspects();
    EXPECT_LE(first, slow);
    EXPECT_LE(slow, end.first_slow);
    const bool borders = (slow >= 6 && slow <= 8) || slow == 15 || slow == 16;
    EXPECT_EQ(end.suspects() > 1, borders) << slow;
  }
}

TEST(Bisect, ReportsARangeOfAllWhereNothingCanBeMeasured) {
  const Bisection end = Line(4, 1, {0, 1, 2}).search();
  EXPECT_EQ(end.first_slow, 3u);
  EXPECT_EQ(end.suspects(), 4u);
}

// How often, of pairs that vary as on two shared cores (decision_simulation_test.cpp), or twice as much.
struct Counts {
  int found = 0, range = 0, wrong = 0;
  double pairs = 0;
};

Counts simulated(double noise, int trials) {
  Counts counts;
  for (int trial = 0; trial < trials; ++trial) {
    const std::size_t slow = static_cast<std::size_t>(trial) % 24;
    Line line(24, slow, {5, 11, 18}, noise, static_cast<std::uint64_t>(trial) + 1);
    const Bisection end = line.search();
    counts.pairs += static_cast<double>(line.pairs()) / trials;
    const bool holds = end.first_slow + 1 - end.suspects() <= slow && slow <= end.first_slow;
    ++(!holds ? counts.wrong : end.suspects() == 1 ? counts.found : counts.range);
  }
  return counts;
}

TEST(BisectSimulation, HoldsTheCulprit) {
  constexpr int kTrials = 2400;  // in a quarter the culprit cannot be measured, or borders such a commit
  const Counts usual = simulated(0.0105, kTrials), doubled = simulated(0.021, kTrials);
  for (const auto& [name, counts] : {std::pair("usual", &usual), std::pair("doubled", &doubled)}) {
    RecordProperty(std::string(name) + "_found", counts->found);
    RecordProperty(std::string(name) + "_range", counts->range);
    RecordProperty(std::string(name) + "_wrong", counts->wrong);
    RecordProperty(std::string(name) + "_pairs", std::to_string(counts->pairs));
  }
  EXPECT_GE(usual.found, kTrials * 3 / 4 * 97 / 100);
  EXPECT_LE(usual.wrong, kTrials / 200);
  EXPECT_LE(doubled.wrong, kTrials / 50);
}

}  // namespace
}  // namespace epochbench
