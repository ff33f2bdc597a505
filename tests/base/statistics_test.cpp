#include "src/base/statistics.h"

#include <cmath>
#include <stdexcept>

#include <gmock/gmock.h>

#include "epochbench/philox.h"

namespace epochbench {
namespace {

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

// Of 400 sets of `least` samples and up to 19 more, how many intervals hold the true median. 380 are expected, with a deviation
// of 4.4.
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

}  // namespace
}  // namespace epochbench
