// The fastest of several: what chooses it, what estimates it, and that the estimate is neither too fast nor too sure.
#include "src/figures/best_choice.h"

#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/base/statistics.h"

namespace epochbench {
namespace {

using Candidates = std::vector<std::vector<double>>;

std::vector<double> estimated(const Candidates& candidates) {
  return estimating(choose_best(candidates), [&](std::size_t place) { return candidates[place]; });
}

std::string letter(std::size_t place) { return std::string(1, static_cast<char>('a' + place)); }

TEST(BestChoice, IsEstimatedByAllItsRepetitionsIfBothHalvesChooseIt) {
  const Candidates candidates{{1, 2, 1, 2, 1}, {3, 4, 5, 6, 7}, {2, 3, 2, 3, 2}};
  const BestChoice choice = choose_best(candidates);
  EXPECT_EQ(choice.place, 1u);
  EXPECT_FALSE(choice.apart());
  EXPECT_EQ(choice.error(), kError);
  EXPECT_EQ(estimated(candidates), candidates[1]);
  EXPECT_EQ(choice_doubt(choice, 3, letter), "");
}

TEST(BestChoice, HasHalvesThatEstimateWhatTheOtherHalfChose) {
  const Candidates candidates{{9, 1, 9, 1, 9}, {2, 8, 2, 8, 2}, {3, 3, 3, 3, 3}};
  const BestChoice choice = choose_best(candidates);
  ASSERT_TRUE(choice.apart());
  EXPECT_EQ(choice.by_half[0], 1u) << "the odd repetitions choose b, and the even ones estimate it";
  EXPECT_EQ(choice.by_half[1], 0u);
  EXPECT_EQ(estimated(candidates), (std::vector<double>{2, 2, 2, 1, 1}));
  EXPECT_EQ(choice.place, 0u) << "the one with the larger mean of all its own";
  EXPECT_EQ(choice.rival(), 1u);
  EXPECT_EQ(choice.error(), kError / 2);
  EXPECT_EQ(choice_doubt(choice, 3, letter),
            "a is as fast as b: each was chosen by half of the repetitions, and is estimated by the other half");
}

TEST(BestChoice, OfSingleRepetitionsSaysThatItMayLookTooFast) {
  const Candidates candidates{{1, 1, 1}, {2}};
  const BestChoice choice = choose_best(candidates);
  EXPECT_EQ(choice.place, 1u);
  EXPECT_TRUE(choice.same_repetitions);
  EXPECT_EQ(choice_doubt(choice, 2, letter),
            "b was chosen as the fastest of 2 by the repetitions that estimate it, so it may look too fast (--repetitions 2 "
            "avoids that)");
  EXPECT_FALSE(choose_best(Candidates{{5}}).same_repetitions) << "nothing was chosen";
}

// Heavy-tailed noise as between processes: Student's t with 5 degrees of freedom, from bits that are the same everywhere.
class ProcessNoise {
 public:
  double operator()() {
    double squares = 0;
    for (int i = 0; i < 5; ++i) squares += std::pow(normal(), 2);
    return normal() / std::sqrt(squares / 5);
  }

 private:
  double uniform() { return (static_cast<double>(engine_() >> 11) + 0.5) * 0x1p-53; }
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::acos(-1.0) * uniform()); }

  std::mt19937_64 engine_{7};
};

// 1,000 choices among candidates that differ by 3 % from process to process; all are equally fast but for the first, which
// is faster by `lead`.
struct Trials {
  double bias = 0, naive_bias = 0;  // mean of ln(estimate / truth): by the halves, and by all repetitions of the fastest
  int held = 0, naive_held = 0;     // intervals with the truth
};

Trials simulate_choices(std::size_t count, int repetitions, double lead) {
  constexpr int kTrials = 1000;
  ProcessNoise noise;
  Trials trials;
  const auto lead_over_others = [&](std::size_t place) { return place == 0 ? lead : 0; };
  for (int trial = 0; trial < kTrials; ++trial) {
    Candidates candidates(count);
    for (std::size_t place = 0; place < count; ++place)
      for (int i = 0; i < repetitions; ++i) candidates[place].push_back(std::exp(lead_over_others(place) + 0.03 * noise()));
    const auto holds = [](const Estimate& estimate, double truth) {
      return estimate.ci95->first <= std::exp(truth) && std::exp(truth) <= estimate.ci95->second;
    };
    const BestChoice choice = choose_best(candidates);
    const double evens = (repetitions + 1) / 2, odds = repetitions / 2;
    const double truth =
        (evens * lead_over_others(choice.by_half[0]) + odds * lead_over_others(choice.by_half[1])) / repetitions;
    const Estimate estimate = geometric_mean_estimate(estimated(candidates), choice.error());
    trials.bias += (std::log(estimate.value) - truth) / kTrials;
    trials.held += holds(estimate, truth);
    std::size_t fastest = 0;
    for (std::size_t place = 1; place < count; ++place)
      if (geometric_mean(candidates[place]) > geometric_mean(candidates[fastest])) fastest = place;
    const Estimate naive = geometric_mean_estimate(candidates[fastest]);
    trials.naive_bias += (std::log(naive.value) - lead_over_others(fastest)) / kTrials;
    trials.naive_held += holds(naive, lead_over_others(fastest));
  }
  std::printf("%zu candidates, %d repetitions, %g lead: %+.2f %% and %d held; by all repetitions %+.2f %% and %d\n", count,
              repetitions, lead, 100 * trials.bias, trials.held, 100 * trials.naive_bias, trials.naive_held);
  return trials;
}

TEST(BestChoice, IsNotTooFastAndHoldsTheTruth) {
  for (const int repetitions : {5, 10})
    for (const std::size_t count : {2, 3, 8})
      for (const double lead : {0.0, 0.02, 0.1}) {
        const Trials trials = simulate_choices(count, repetitions, lead);
        EXPECT_LT(std::fabs(trials.bias), 0.0015) << count << ", " << repetitions;
        EXPECT_GE(trials.held, 930) << count << ", " << repetitions << ", " << lead;
      }
  const Trials eight = simulate_choices(8, 5, 0);
  EXPECT_GT(eight.naive_bias, 0.015) << "what the halves avoid";
  EXPECT_LT(eight.naive_held, 930);
}

}  // namespace
}  // namespace epochbench
