// Ratios and their intervals: known values, refusals, and how often simulated intervals hold the truth.
#include "src/figures/estimate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/statistics.h"

namespace epochbench {
namespace {

using testing::HasSubstr;
using Interval = std::pair<double, double>;

TEST(RatioEstimate, IsExactForEqualRepetitions) {
  const std::vector<double> baseline(5, 0.1), contender(7, 0.3);
  const Estimate estimate = ratio_estimate(baseline, contender);
  EXPECT_EQ(estimate.value, 0.3 / 0.1);
  EXPECT_EQ(estimate.ci95, Interval(0.3 / 0.1, 0.3 / 0.1));
  EXPECT_EQ(estimate.reason, "");
}

// ln 1.00, 1.01, ... against ln 2.0, 2.2, ...: worked out by hand with Welch's formulae.
TEST(RatioEstimate, IsWelchsIntervalOfTheLogarithms) {
  const std::vector<double> baseline{1.00, 1.02, 0.98, 1.01, 0.99}, contender{2.0, 2.2, 2.1, 1.9, 2.0, 2.3};
  const auto moments = [](const std::vector<double>& values) {
    double mean = 0, squares = 0;
    for (const double value : values) mean += std::log(value) / static_cast<double>(values.size());
    for (const double value : values) squares += (std::log(value) - mean) * (std::log(value) - mean);
    const auto n = static_cast<double>(values.size());
    return std::pair(mean, squares / (n - 1) / n);
  };
  const auto [below, va] = moments(baseline);
  const auto [above, vb] = moments(contender);
  const double degrees = (va + vb) * (va + vb) / (va * va / 4 + vb * vb / 5);
  EXPECT_NEAR(degrees, 5.6, 0.1);
  const double half = student_t_bound(degrees, 0.05) * std::sqrt(va + vb);
  const Estimate estimate = ratio_estimate(baseline, contender);
  EXPECT_NEAR(estimate.value, std::exp(above - below), 1e-12);
  EXPECT_NEAR(estimate.ci95->first, std::exp(above - below - half), 1e-9);
  EXPECT_NEAR(estimate.ci95->second, std::exp(above - below + half), 1e-9);
}

TEST(RatioEstimate, OfSwappedSidesIsTheInverse) {
  const std::vector<double> a{10, 11, 10.5, 9.8, 10.2}, b{31, 30, 29.5, 30.4, 33, 30};
  const Estimate forth = ratio_estimate(a, b), back = ratio_estimate(b, a);
  EXPECT_NEAR(forth.value * back.value, 1, 1e-12);
  EXPECT_NEAR(forth.ci95->first * back.ci95->second, 1, 1e-12);
}

TEST(RatioEstimate, HasNoIntervalOfFewerThanFiveASide) {
  const Estimate estimate = ratio_estimate(std::vector<double>{2}, std::vector<double>(9, 6));
  EXPECT_EQ(estimate.value, 3);
  EXPECT_FALSE(estimate.ci95);
  EXPECT_THAT(estimate.reason, HasSubstr("5 repetitions per side"));
  EXPECT_THAT(estimate.reason, HasSubstr("the baseline has 1, the contender 9"));
  EXPECT_FALSE(ratio_estimate(std::vector<double>(5, 6), std::vector<double>(4, 6)).ci95);
}

TEST(RatioEstimate, IsNotKnownOfNumbersThatAreNoRates) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
  for (const double bad : {0.0, -1.0, nan, infinite}) {
    const Estimate estimate = ratio_estimate(std::vector<double>{1, 1, 1, 1, bad}, std::vector<double>(5, 2));
    EXPECT_TRUE(std::isnan(estimate.value)) << bad;
    EXPECT_FALSE(estimate.ci95);
    EXPECT_THAT(estimate.reason, HasSubstr("above 0"));
  }
  EXPECT_THAT(ratio_estimate({}, std::vector<double>{1}).reason, HasSubstr("no repetition"));
}

TEST(RatioEstimate, HoldsHugeNumbersAndRefusesRatiosBeyondThem) {
  const Estimate estimate =
      ratio_estimate(std::vector<double>(5, 1e308), std::vector<double>{1e308, 1.1e308, 1e308, 1e308, 1e308});
  EXPECT_NEAR(estimate.value, std::pow(1.1, 0.2), 1e-9);
  EXPECT_TRUE(estimate.ci95);
  EXPECT_THAT(ratio_estimate(std::vector<double>(5, 1e-300), std::vector<double>(5, 1e308)).reason,
              HasSubstr("beyond the range"));
  EXPECT_THAT(ratio_estimate(std::vector<double>(5, 1e308), std::vector<double>(5, 1e-300)).reason,
              HasSubstr("beyond the range"));
}

// How the processes of one side vary. Every step of a process has the process's own factor; steps follow each other with a
// correlation of 0.3.
struct Law {
  double process_noise = 0.03;  // scale of Student's t with 5 degrees of freedom, of the logarithm
  double step_noise = 0.03;
  double spikes = 0.01;  // the probability of a step that lasts three times as long
  int steps = 50;
};

// Steps per second of one process whose undisturbed step lasts 1 / rate.
double process_rate(double rate, const Law& law, std::mt19937_64& random) {
  std::student_t_distribution<double> heavy(5);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  constexpr double kCorrelation = 0.3, kSpike = 3;
  const double factor = std::exp(law.process_noise * heavy(random));
  double noise = normal(random), seconds = 0;
  for (int step = 0; step < law.steps; ++step) {
    noise = kCorrelation * noise + std::sqrt(1 - kCorrelation * kCorrelation) * normal(random);
    seconds += factor / rate * (1 + law.step_noise * noise) * (uniform(random) < law.spikes ? kSpike : 1);
  }
  return law.steps / seconds;
}

std::vector<double> process_rates(int count, double rate, const Law& law, std::mt19937_64& random) {
  std::vector<double> rates;
  for (int i = 0; i < count; ++i) rates.push_back(process_rate(rate, law, random));
  return rates;
}

// What an interval should hold: the ratio of the expected rates. Spikes and noise are part of both sides' expectation.
double true_ratio(double rate, const Law& baseline, const Law& contender) {
  constexpr int kProcesses = 10'000;  // a standard error of 0.06 %, where the narrowest intervals have 6 %
  std::mt19937_64 random(1);
  const auto mean = [](const std::vector<double>& rates) {
    double sum = 0;
    for (const double each : rates) sum += each;
    return sum / static_cast<double>(rates.size());
  };
  return mean(process_rates(kProcesses, rate, contender, random)) / mean(process_rates(kProcesses, 1, baseline, random));
}

struct Coverage {
  int held = 0;      // of 1,000 intervals
  double width = 0;  // mean of ln(upper / lower)
};

using Method = std::function<Interval(const std::vector<double>&, const std::vector<double>&)>;

Coverage coverage(int repetitions, const Law& baseline, const Law& contender, const Method& method) {
  constexpr int kPairs = 1000;
  constexpr double kRate = 8;
  const double truth = true_ratio(kRate, baseline, contender);
  std::mt19937_64 random(7);
  Coverage coverage;
  for (int pair = 0; pair < kPairs; ++pair) {
    const auto below = process_rates(repetitions, 1, baseline, random);
    const auto above = process_rates(repetitions, kRate, contender, random);
    const auto [low, high] = method(below, above);
    coverage.held += low <= truth && truth <= high;
    coverage.width += std::log(high / low) / kPairs;
  }
  return coverage;
}

Interval welch(const std::vector<double>& baseline, const std::vector<double>& contender) {
  return *ratio_estimate(baseline, contender).ci95;
}

// Hodges and Lehmann's: the order statistics of all ratios that Mann and Whitney's exact test does not reject at 5 %. `beyond`
// is the test's critical value: 2 for 5 a side, 23 for 10 (Mann and Whitney 1947, two-sided).
Method ranks(std::size_t beyond) {
  return [beyond](const std::vector<double>& baseline, const std::vector<double>& contender) {
    std::vector<double> ratios;
    for (const double below : baseline)
      for (const double above : contender) ratios.push_back(above / below);
    std::sort(ratios.begin(), ratios.end());
    return Interval(ratios[beyond], ratios[ratios.size() - 1 - beyond]);
  };
}

// 950 of 1,000 intervals of 95 % are expected to contain the truth, with a deviation of 7.
TEST(RatioEstimate, HoldsTheTruthWhereProcessesDiffer) {
  for (const int repetitions : {5, 10}) {
    const Coverage found = coverage(repetitions, {}, {}, welch);
    EXPECT_GE(found.held, 930) << repetitions;
    EXPECT_LE(found.held, 980) << repetitions << ": wider than it needs to be";
  }
}

TEST(RatioEstimate, HoldsTheTruthWhereOneSideIsFarQuieter) {
  const Law quiet{0.002, 0.002, 0, 50};
  for (const int repetitions : {5, 10}) {
    EXPECT_GE(coverage(repetitions, {}, quiet, welch).held, 930) << repetitions;
    EXPECT_GE(coverage(repetitions, quiet, {}, welch).held, 930) << repetitions;
  }
}

// Why not ranks: see estimate.h.
TEST(RatioEstimate, IsChosenOverRanks) {
  const Law noisy, quiet{0.002, 0.002, 0, 50};
  EXPECT_LT(coverage(5, noisy, noisy, welch).width, coverage(5, noisy, noisy, ranks(2)).width);
  EXPECT_LT(coverage(10, noisy, noisy, welch).width, 1.05 * coverage(10, noisy, noisy, ranks(23)).width);
  EXPECT_LT(coverage(10, noisy, quiet, ranks(23)).held, 930);
}

TEST(MeanEstimate, IsStudentsIntervalOfTheLogarithms) {
  const Estimate estimate = geometric_mean_estimate(std::vector<double>{1, 2, 4, 8, 16});
  EXPECT_NEAR(estimate.value, 4, 1e-12);
  ASSERT_TRUE(estimate.ci95);
  // Logarithms to base 2 are -2 .. 2 around the mean: deviation sqrt(2.5), of the mean sqrt(0.5); t of 4 degrees 2.7764.
  const double half = std::exp2(2.7764 * std::sqrt(0.5));
  EXPECT_NEAR(estimate.ci95->first, 4 / half, 1e-3);
  EXPECT_NEAR(estimate.ci95->second, 4 * half, 1e-3);
  EXPECT_EQ(geometric_mean_estimate(std::vector<double>(5, 0.1)).ci95, Interval(0.1, 0.1));
}

TEST(MeanEstimate, SaysWhyItHasNoIntervalOrNoValue) {
  EXPECT_EQ(geometric_mean_estimate(std::vector<double>(4, 3.0)).value, 3);
  EXPECT_THAT(geometric_mean_estimate(std::vector<double>(4, 3.0)).reason,
              HasSubstr("5 repetitions (--repetitions 5); there are 4"));
  EXPECT_THAT(geometric_mean_estimate(std::vector<double>{3}).reason, HasSubstr("there is 1"));
  for (const std::vector<double>& none : {std::vector<double>{}, {1, 0}, {1, -1}, {1, std::nan("")}}) {
    EXPECT_FALSE(std::isfinite(geometric_mean_estimate(none).value));
    EXPECT_FALSE(geometric_mean_estimate(none).reason.empty());
  }
}

}  // namespace
}  // namespace epochbench
