#include "src/base/statistics.h"

#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "epochbench/philox.h"

namespace epochbench {
namespace {

using testing::ElementsAre;

std::vector<double> normal_samples(std::size_t n, std::uint64_t seed, double mean, double deviation) {
  std::vector<double> samples;
  for (std::uint32_t i = 0; samples.size() < n; ++i) {
    const PhiloxBlock block = philox(seed, {i, 0, 0, 0});
    const double radius = std::sqrt(-2 * std::log(uniform01(block[0])));
    samples.push_back(mean + deviation * radius * std::cos(6.283185307179586 * uniform01(block[1])));
  }
  return samples;
}

TEST(Median, OddEvenAndUnsorted) {
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median({5, 5, 5, 1}), 5);
  EXPECT_THROW(median({}), std::invalid_argument);
}

TEST(Median, OfNothingIsEmptyWhereThatIsAllowed) {
  EXPECT_EQ(median_if_any({}), std::nullopt);
  EXPECT_EQ(median_if_any({3, 1, 2}), 2);
}

TEST(Variance, IsThatOfASample) {
  EXPECT_EQ(variance(std::vector<double>{2, 4, 4, 4, 5, 5, 7, 9}), 32.0 / 7);
  EXPECT_EQ(variance(std::vector<double>{0.25, 0.25, 0.25, 0.25}), 0) << "nothing is left of equal values";
  EXPECT_EQ(variance(std::vector<double>{5}), 0);
}

TEST(Quantile, LiesLinearlyBetweenNeighbors) {
  EXPECT_EQ(quantile({1, 2, 4}, 0), 1);
  EXPECT_EQ(quantile({1, 2, 4}, 0.25), 1.5);
  EXPECT_EQ(quantile({1, 2, 4}, 0.75), 3);
  EXPECT_EQ(quantile({1, 2, 4}, 1), 4);
  EXPECT_EQ(quantile({7}, 0.9), 7);
  EXPECT_THROW(quantile({}, 0.5), std::invalid_argument);
}

TEST(MedianInterval, CollapsesOnEqualSamples) {
  EXPECT_EQ(median_interval(std::vector<double>(7, 2.5)), Interval(2.5, 2.5));
  EXPECT_EQ(median_interval({4}), Interval(4, 4));
  EXPECT_THROW(median_interval({}), std::invalid_argument);
}

TEST(MedianInterval, IsTheSameEachTimeAndWhateverTheOrder) {
  std::vector<double> samples = normal_samples(37, 1, 10, 1);
  const Interval first = median_interval(samples);
  EXPECT_EQ(median_interval(samples), first);
  std::vector<double> reversed(samples.rbegin(), samples.rend());
  EXPECT_EQ(median_interval(reversed), first);
  EXPECT_LT(first.first, first.second);
}

// The resampling written out as it is documented, with a plain median of the drawn values.
TEST(MedianInterval, CanBeComputedAgainFromTheRawNumbers) {
  for (const std::size_t n : {5u, 12u, 31u}) {
    std::vector<double> sorted = normal_samples(n, 3, 1, 0.1);
    std::sort(sorted.begin(), sorted.end());
    std::vector<double> medians;
    for (std::uint32_t r = 0; r < 1000; ++r) {
      std::vector<double> drawn;
      for (std::uint32_t i = 0; i < n; ++i) {
        const PhiloxBlock block = philox(0, {i / 4, r, 0, static_cast<std::uint32_t>(RandomStream::bootstrap)});
        drawn.push_back(sorted[static_cast<std::size_t>(std::uint64_t{block[i % 4]} * n >> 32)]);
      }
      medians.push_back(median(drawn));
    }
    std::sort(medians.begin(), medians.end());
    const auto at = [&](double position) {
      const auto below = static_cast<std::size_t>(position);
      return medians[below] + (position - std::floor(position)) * (medians[below + 1] - medians[below]);
    };
    const Interval interval = median_interval(sorted);
    EXPECT_DOUBLE_EQ(interval.first, at(0.025 * 999)) << n;
    EXPECT_DOUBLE_EQ(interval.second, at(0.975 * 999)) << n;
  }
}

// How many intervals of 400 sets of `least` samples and up to 19 more contain the true median. 380 are expected, with a
// deviation of 4.4.
template <class Function>
int covered(Function interval_of, std::size_t least) {
  int hits = 0;
  for (std::uint64_t set = 0; set < 400; ++set) {
    const Interval interval = interval_of(normal_samples(least + set % 20, 100 + set, 10, 1));
    hits += interval.first <= 10 && 10 <= interval.second;
  }
  return hits;
}

TEST(MedianInterval, CoversTheTrueMedian) {
  const int hits = covered([](const std::vector<double>& samples) { return median_interval(samples); }, 30);
  EXPECT_GE(hits, 362);  // the percentile bootstrap of few samples is known to cover a little less than it says
  EXPECT_LE(hits, 395);
}

TEST(MedianIntervalByRank, CoversTheTrueMedian) {
  for (const std::size_t least : {10u, 40u, 1500u}) {
    const int hits = covered([](const std::vector<double>& samples) { return median_interval_by_rank(samples); }, least);
    EXPECT_GE(hits, 372) << least;
    EXPECT_LE(hits, 398) << least;
  }
}

TEST(MedianIntervalByRank, TakesTheRanksOfTheBinomialTable) {
  std::vector<double> samples(10);
  for (std::size_t i = 0; i < 10; ++i) samples[i] = static_cast<double>(10 - i);
  EXPECT_EQ(median_interval_by_rank(samples), Interval(2, 9));          // 97.9 %, as in tables of the sign test
  EXPECT_EQ(median_interval_by_rank({5, 1, 2, 4, 3}), Interval(1, 5));  // fewer than 6 cannot reach 95 %
  EXPECT_EQ(median_interval_by_rank({5, 1, 2, 4, 3, 6}), Interval(1, 6));
}

TEST(MedianIntervalByRank, AgreesWithTheBootstrapOnManySamples) {
  const std::vector<double> samples = normal_samples(5000, 9, 10, 1);
  const Interval ranks = median_interval_by_rank(samples), bootstrap = median_interval(samples);
  EXPECT_NEAR(ranks.first, bootstrap.first, 0.1 * (ranks.second - ranks.first));
  EXPECT_NEAR(ranks.second, bootstrap.second, 0.1 * (ranks.second - ranks.first));
}

TEST(MedianInterval, BeyondTheBootstrapIsByRank) {
  const std::vector<double> samples = normal_samples(kBootstrapSamples + 1, 9, 10, 1);
  EXPECT_EQ(median_interval(samples), median_interval_by_rank(samples));
}

TEST(RelativeNoise, IsHalfTheIntervalOverTheMedian) {
  std::vector<double> samples;
  for (int i = 1; i <= 10; ++i) samples.push_back(100 + i);
  EXPECT_DOUBLE_EQ(relative_noise(samples), (109 - 102) / 2.0 / 105.5);
  EXPECT_TRUE(std::isinf(relative_noise({0, 0, 0})));
}

TEST(Means, OfEqualValuesAreTheirs) {
  EXPECT_DOUBLE_EQ(geometric_mean(std::vector<double>{1, 4, 16}), 4);
  EXPECT_EQ(geometric_mean(std::vector<double>(7, 0.1)), 0.1);
  EXPECT_EQ(mean(std::vector<double>{1, 2, 6}), 3);
  EXPECT_TRUE(std::isnan(mean({})));
}

TEST(StudentT, AgreesWithTables) {
  const std::pair<double, double> table[] = {{1, 12.7062}, {1.5, 6.0167}, {2, 4.3027},  {4, 2.7764},
                                             {8, 2.3060},  {18, 2.1009},  {120, 1.9799}};
  for (const auto& [degrees, quantile] : table) EXPECT_NEAR(student_t_bound(degrees, 0.05), quantile, 5e-5) << degrees;
  EXPECT_NEAR(student_t_bound(1e6, 0.05), 1.959966, 1e-6);
  EXPECT_NEAR(student_t_bound(1e9, 0.05), 1.959964, 1e-6);
}

// Against closed forms: 1 - 2/pi atan(t) for 1 degree of freedom, 1 - t / sqrt(2 + t^2) for 2, and the normal distribution's.
TEST(StudentT, BoundsMissAsOftenAsAsked) {
  for (const double error : {0.05, 0.05 / 11, 1e-4})
    for (const double degrees : {1.0, 4.0, 7.5, 100.0})
      EXPECT_NEAR(student_t_two_sided_p(student_t_bound(degrees, error), degrees) / error, 1, 1e-4) << degrees << " " << error;
}

TEST(StudentT, HasTheTailOfItsClosedForms) {
  for (const double t : {0.0, 0.1, 1.0, 12.7, 1000.0}) {
    EXPECT_NEAR(student_t_two_sided_p(t, 1), 1 - std::atan(t) * 2 / 3.14159265358979323846, 1e-9) << t;
    const double tail = 2 / (2 + t * t) / (1 + t / std::sqrt(2 + t * t));  // the same without canceling
    EXPECT_NEAR(student_t_two_sided_p(t, 2), tail, 1e-5 * tail) << t;
    EXPECT_EQ(student_t_two_sided_p(-t, 7), student_t_two_sided_p(t, 7)) << t;
  }
  for (const double degrees : {1.0, 4.0, 30.0, 1000.0})
    EXPECT_NEAR(student_t_two_sided_p(student_t_bound(degrees, 0.05), degrees), 0.05, 1e-6) << degrees;
  for (const double t : {0.01, 1.0, 3.2905, 8.0}) {
    const double tail = std::erfc(t / std::sqrt(2.0));
    EXPECT_NEAR(student_t_two_sided_p(t, 1e9), tail, 1e-5 * tail) << t;
  }
}

TEST(Holm, ComparesEachWithWhatTheSmallerLeave) {
  const std::vector<double> p_values{0.01, 0.04, 0.03, 0.005};
  const Rejections rejections = holm(p_values, 0.05);  // against 0.0125, 0.0167, and 0.025, which fails
  EXPECT_THAT(rejections.rejected, ElementsAre(true, false, false, true));
  EXPECT_DOUBLE_EQ(rejections.level, 0.025);
  EXPECT_THAT(holm(std::vector<double>{0.02}, 0.02).rejected, ElementsAre(true));
  EXPECT_THAT(holm(std::vector<double>{0.03, 0.0251}, 0.05).rejected, ElementsAre(false, false));  // 0.03 waits for the other
  EXPECT_TRUE(holm({}, 0.05).rejected.empty());
}

}  // namespace
}  // namespace epochbench
