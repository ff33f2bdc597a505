// Rank shifts against printed tables, against every outcome enumerated, and by hand.
#include "src/base/rank_shift.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace epochbench {
namespace {

using Numbers = std::vector<double>;

// 1, 2, …, n; the rank `negative` counts against, and with 0 none does. So the signed-rank statistic is `negative`.
Numbers ranks_with(int n, int negative) {
  Numbers differences;
  for (int rank = 1; rank <= n; ++rank) differences.push_back(rank == negative ? -rank : rank);
  return differences;
}

// Wilcoxon's distribution: of 2^n sums, those up to the statistic, as every table has them (Hollander and Wolfe, "Nonparametric
// statistical methods", table A.4: n = 10, P(T <= 8) = 0.024).
TEST(PairedShift, HasThePValuesOfTables) {
  struct Row {
    int n, statistic;
    double sums;  // of 2^n
  };
  const Row table[] = {{5, 0, 1},  {5, 1, 2},  {6, 0, 1},  {6, 2, 3},  {7, 2, 3},   {7, 3, 5},   {8, 3, 5},   {8, 5, 10},
                       {9, 5, 10}, {9, 8, 25}, {10, 0, 1}, {10, 3, 5}, {10, 5, 10}, {10, 8, 25}, {10, 10, 43}};
  for (const auto& [n, statistic, sums] : table) {
    const RankShift shift = paired_shift(ranks_with(n, statistic));
    EXPECT_DOUBLE_EQ(shift.p_above(), sums / std::exp2(n)) << n << ' ' << statistic;
    EXPECT_DOUBLE_EQ(shift.smallest_p(), std::exp2(-n));
  }
}

// So many of the 252 orders of five and five have so few inversions: 1, 2, 4, 7, 12 (Mann and Whitney 1947, table I).
TEST(UnpairedShift, HasThePValuesOfTables) {
  const Numbers a{1, 2, 3, 4, 5};
  const std::pair<Numbers, double> table[] = {{{6, 7, 8, 9, 10}, 1},
                                              {{4.5, 7, 8, 9, 10}, 2},
                                              {{3.5, 7, 8, 9, 10}, 4},
                                              {{2.5, 7, 8, 9, 10}, 7},
                                              {{1.5, 7, 8, 9, 10}, 12}};
  for (const auto& [b, orders] : table) EXPECT_NEAR(unpaired_shift(a, b).p_above(), orders / 252, 1e-15) << b[0];
  EXPECT_NEAR(unpaired_shift(a, Numbers{6, 7, 8, 9, 10}).p_below(), 1, 1e-15);
}

// As many candidates lie beyond a bound as the critical value of the two-sided test at 5 %: 8 of 10 pairs, 52 of 20; 23 of 10 a
// side.
TEST(RankShift, CountsOffTheCriticalValuesOfTables) {
  const auto beyond = [](const RankShift& shift, Numbers candidates) {
    std::sort(candidates.begin(), candidates.end());
    return std::find(candidates.begin(), candidates.end(), *shift.lower(0.025)) - candidates.begin();
  };
  for (const auto& [n, critical] : {std::pair(10, 8), std::pair(20, 52)}) {
    Numbers differences, walsh;
    for (int i = 0; i < n; ++i) differences.push_back(std::exp2(i));  // no two averages are equal
    for (int i = 0; i < n; ++i)
      for (int j = 0; j <= i; ++j) walsh.push_back((differences[i] + differences[j]) / 2);
    EXPECT_EQ(beyond(paired_shift(differences), walsh), critical) << n;
  }
  Numbers a, b, all;
  for (int i = 0; i < 10; ++i) {
    a.push_back(std::exp2(i));
    b.push_back(std::exp2(i + 10.5));
  }
  for (const double from : a)
    for (const double to : b) all.push_back(to - from);
  EXPECT_EQ(beyond(unpaired_shift(a, b), all), 23);
}

TEST(PairedShift, EstimateIsTheMedianOfWalshAverages) {
  EXPECT_EQ(paired_shift(Numbers{4, 1, 2}).estimate(), 2.25);  // of 1, 1.5, 2, 2.5, 3, 4
  EXPECT_EQ(paired_shift(Numbers{7}).estimate(), 7);
  EXPECT_EQ(paired_shift(Numbers{1, 2, 1000}).estimate(), (2 + 500.5) / 2);  // of 1, 1.5, 2, 500.5, 501, 1000
}

TEST(UnpairedShift, EstimateIsTheMedianOfDifferences) {
  EXPECT_EQ(unpaired_shift(Numbers{1, 2}, Numbers{4, 7}).estimate(), 4);  // of 2, 3, 5, 6
  EXPECT_EQ(unpaired_shift(Numbers{1}, Numbers{5, 7, 100}).estimate(), 6);
}

TEST(RankShift, HasNoBoundThatSoFewNumbersCannotGive) {
  const RankShift six = paired_shift(ranks_with(6, 0)), seven = paired_shift(ranks_with(7, 0));
  EXPECT_FALSE(six.lower(0.01));  // 1 / 64 is more
  EXPECT_FALSE(six.upper(0.01));
  EXPECT_EQ(six.lower(0.02), 1);
  EXPECT_EQ(seven.lower(0.01), 1);
  EXPECT_EQ(seven.upper(0.01), 7);
  const RankShift fours = unpaired_shift(Numbers{1, 2, 3, 4}, Numbers{5, 6, 7, 8});  // 1 / 70
  EXPECT_FALSE(fours.lower(0.01));
  EXPECT_EQ(fours.lower(0.02), 1);
}

// The sample whose bit i says the sign of magnitude i: all are equally likely where the shift is 0.
Numbers with_signs(const Numbers& magnitudes, unsigned signs) {
  Numbers differences = magnitudes;
  for (std::size_t i = 0; i < differences.size(); ++i)
    if (signs >> i & 1) differences[i] = -differences[i];
  return differences;
}

double share_of_signs(const Numbers& magnitudes, const std::function<bool(const RankShift&)>& happens) {
  const unsigned all = 1u << magnitudes.size();
  int count = 0;
  for (unsigned signs = 0; signs < all; ++signs) count += happens(paired_shift(with_signs(magnitudes, signs)));
  return static_cast<double>(count) / all;
}

// A p-value is what it says: as small a one, or a smaller, comes about by chance exactly that often.
TEST(PairedShift, PValuesAreExactOverAllSigns) {
  for (const int n : {5, 6, 8, 10}) {
    Numbers magnitudes;
    for (int i = 0; i < n; ++i) magnitudes.push_back(std::exp(0.37 * i * i));
    for (const int statistic : {0, 1, 4, 5}) {
      const double p = paired_shift(ranks_with(n, statistic)).p_above();
      const double as_small = share_of_signs(magnitudes, [&](const RankShift& shift) { return shift.p_above() <= p; });
      EXPECT_DOUBLE_EQ(as_small, p) << n << ' ' << statistic;
    }
  }
}

// An interval misses the truth, here 0, as often as its level allows and no wider one could.
TEST(PairedShift, BoundsMissTheTruthAsOftenAsTheirLevel) {
  const Numbers magnitudes{0.3, 1.1, 1.7, 2.9, 4.3, 5.2, 7.7, 9.1, 13.6, 21.4};
  for (const auto& [level, sums] : {std::pair(0.005, 5), std::pair(0.01, 10), std::pair(0.025, 25), std::pair(0.05, 43)}) {
    const double above =
        share_of_signs(magnitudes, [level = level](const RankShift& shift) { return *shift.lower(level) > 0; });
    const double below =
        share_of_signs(magnitudes, [level = level](const RankShift& shift) { return *shift.upper(level) < 0; });
    EXPECT_EQ(above, sums / 1024.0) << level;
    EXPECT_EQ(below, sums / 1024.0) << level;
  }
}

// Zeros and ties make chance rarer than the level, never more frequent.
TEST(PairedShift, IsSafeWithTiesAndZeros) {
  for (const Numbers& magnitudes :
       {Numbers{0, 0, 0, 1, 1, 1, 1, 2, 2, 3}, Numbers(10, 1), Numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}})
    for (const double level : {0.001, 0.005, 0.01, 0.025, 0.05, 0.1}) {
      EXPECT_LE(share_of_signs(magnitudes, [&](const RankShift& shift) { return shift.p_above() <= level; }), level);
      EXPECT_LE(share_of_signs(magnitudes, [&](const RankShift& shift) { return shift.p_below() <= level; }), level);
    }
  const RankShift zeros = paired_shift(Numbers(10, 0));
  EXPECT_EQ(zeros.p_above(), 1);
  EXPECT_EQ(zeros.p_below(), 1);
  EXPECT_EQ(zeros.lower(0.025), 0);
  EXPECT_EQ(zeros.upper(0.025), 0);
}

// All ways to deal numbers to two sides, each equally likely where there is no shift.
double share_of_deals(const Numbers& numbers, std::size_t of_a, const std::function<bool(const RankShift&)>& happens) {
  std::vector<int> is_a(numbers.size());
  std::fill_n(is_a.begin(), of_a, 1);
  int count = 0, all = 0;
  do {
    Numbers a, b;
    for (std::size_t i = 0; i < numbers.size(); ++i) (is_a[i] == 1 ? a : b).push_back(numbers[i]);
    count += happens(unpaired_shift(a, b));
    ++all;
  } while (std::prev_permutation(is_a.begin(), is_a.end()));
  return static_cast<double>(count) / all;
}

TEST(UnpairedShift, PValuesAreExactOverAllDeals) {
  const Numbers numbers{0.3, 1.1, 1.7, 2.9, 4.3, 5.2, 7.7, 9.1, 13.6, 21.4, 22.2};
  const Numbers low{1, 2, 3, 4, 5};
  for (const double least : {6.0, 4.5, 3.5, 1.5}) {
    const double p = unpaired_shift(low, Numbers{least, 7, 8, 9, 10, 11}).p_above();
    EXPECT_NEAR(share_of_deals(numbers, 5, [&](const RankShift& shift) { return shift.p_above() <= p * (1 + 1e-9); }), p,
                1e-12);
    EXPECT_NEAR(share_of_deals(numbers, 6, [&](const RankShift& shift) { return shift.p_below() <= p * (1 + 1e-9); }), p,
                1e-12);
  }
}

TEST(UnpairedShift, IsSafeWithTies) {
  const Numbers numbers{1, 1, 1, 2, 2, 2, 2, 3, 3, 5};
  for (const double level : {0.01, 0.025, 0.05, 0.1})
    EXPECT_LE(share_of_deals(numbers, 5, [&](const RankShift& shift) { return shift.p_above() <= level; }), level);
}

// A bound lies beyond 0 exactly where the p-value reaches its level; negated or swapped, everything is mirrored.
TEST(RankShift, BoundsPValuesAndMirrorsAgree) {
  std::mt19937_64 random(3);
  std::uniform_int_distribution<int> coarse(-4, 6);
  for (int trial = 0; trial < 300; ++trial) {
    Numbers a, b, negated;
    for (int i = 0; i < 9; ++i) {
      a.push_back(coarse(random));
      negated.push_back(-a.back());
    }
    for (int i = 0; i < 7; ++i) b.push_back(coarse(random));
    for (const auto& [shift, mirror] :
         {std::pair(paired_shift(a), paired_shift(negated)), std::pair(unpaired_shift(a, b), unpaired_shift(b, a))}) {
      EXPECT_EQ(shift.estimate(), -mirror.estimate());
      EXPECT_DOUBLE_EQ(shift.p_above(), mirror.p_below());
      for (const double level : {0.01, 0.025, 0.05, 0.2, 0.4}) {
        EXPECT_EQ(*shift.lower(level) > 0, shift.p_above() <= level);
        EXPECT_EQ(*shift.upper(level) < 0, shift.p_below() <= level);
        EXPECT_EQ(*shift.lower(level), -*mirror.upper(level));
        EXPECT_LE(*shift.lower(level), shift.estimate());
      }
    }
  }
}

// Beyond kExactRankSum a side the p-value is the normal one, which is compared with the exact where that still holds.
TEST(UnpairedShift, TurnsNormalOnTheSafeSide) {
  const auto normal = [](double n, double statistic) {
    const double deviation = std::sqrt(n * n * (2 * n + 1) / 12);
    return std::erfc((n * n / 2 - statistic - 0.5) / deviation / std::sqrt(2.0)) / 2;
  };
  // b lies above all of a but for `statistic` inversions: whole numbers of a beyond its smallest, then the rest of one.
  const auto p_of = [](int n, int statistic) {
    Numbers a, b;
    for (int i = 0; i < n; ++i) a.push_back(i);
    for (int i = 0; i < n; ++i) {
      const int inversions = std::min(statistic, n);
      statistic -= inversions;
      b.push_back(n - inversions - 0.5);
    }
    return unpaired_shift(a, b).p_above();
  };
  for (const int statistic : {800, 850, 900, 913, 950}) {
    const double exact = p_of(50, statistic), approximate = normal(50, statistic);
    EXPECT_GT(approximate, exact) << statistic;
    EXPECT_LT(approximate, 1.12 * exact) << statistic;
  }
  EXPECT_NEAR(p_of(50, 913), 0.00995, 5e-6);
  EXPECT_NEAR(normal(50, 913), 0.01018, 5e-6);
  EXPECT_NEAR(p_of(51, 950) / normal(51, 950), 1, 1e-12);
}

TEST(PairedShift, HoldsAThousandPairs) {
  Numbers differences;
  for (int i = 0; i < 1000; ++i) differences.push_back(i % 2 == 0 ? 1 + i : -i - 0.5);
  const RankShift shift = paired_shift(differences);
  EXPECT_NEAR(shift.p_above() + shift.p_below(), 1, 0.01);
  EXPECT_LT(*shift.lower(0.025), shift.estimate());
  EXPECT_GT(*shift.upper(0.025), shift.estimate());
}

}  // namespace
}  // namespace epochbench
