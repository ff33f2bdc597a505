// By how much numbers are shifted, from their ranks alone: Hodges and Lehmann's estimate with exact bounds and p-values.
//
// Paired: differences d that are symmetric about the shift, and the signed-rank statistic (Wilcoxon, "Individual comparisons by
// ranking methods", Biometrics Bulletin 1, 1945). Unpaired: two samples of one shape, and the rank-sum statistic (Mann and
// Whitney, "On a test of whether one of two random variables is stochastically larger than the other", Annals of Mathematical
// Statistics 18, 1947). No distribution beyond that is assumed, so a pair that another job disturbed counts no more than its
// rank. What a shift means for a benchmark is up to src/analysis/compare.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace epochbench {

// Both statistics count candidates for the shift: the Walsh averages (d_i + d_j) / 2 with i <= j, or the differences b_j - a_i.
// The estimate is their median; a bound is the candidate that the statistic's quantile counts off (Hodges and Lehmann,
// "Estimates of location based on rank tests", Annals of Mathematical Statistics 34, 1963).
//
// Ties and zeros: nothing is dropped and no mean rank is given. A candidate of exactly 0 speaks for neither direction, so
// p-values and bounds agree with each other (a bound beyond 0 at a level is a p-value of at most that level) and err to the
// safe side where numbers are coarse.
class RankShift {
 public:
  // `candidates` in any order, at least one; `at_most[k]` = the probability, without a shift, of k or fewer of them below 0.
  RankShift(std::vector<double> candidates, std::vector<double> at_most);

  double estimate() const;

  // One-sided bounds: the shift lies beyond it with a probability of at most `level`. None where the level is below
  // smallest_p(): so few numbers cannot bound it so surely.
  std::optional<double> lower(double level) const;
  std::optional<double> upper(double level) const;

  double p_above() const;     // of as much or more speaking for a shift above 0, where there is none or one below
  double p_below() const;     // the same for a shift below 0
  double smallest_p() const;  // that so many numbers can have: 1 / 2^n of n pairs, 1 / (n + m choose n) of two samples

 private:
  std::optional<std::size_t> counted_off(double level) const;

  std::vector<double> candidates_;  // ascending
  std::vector<double> at_most_;     // one per count, from 0 to all candidates
};

// Of one number per pair; at least one, all finite. Exact up to 1,000 pairs and beyond, in time and memory of n^3 and n^2.
RankShift paired_shift(std::span<const double> differences);

// By how much `b` lies above `a`; at least one number per side, all finite. Exact up to kExactRankSum per side. Beyond it
// p-values are those of the normal approximation with its continuity correction; small ones err to the safe side, at 50 per
// side by 2 % of themselves where 1 % is exact, and by 12 % where 0.1 % is.
RankShift unpaired_shift(std::span<const double> a, std::span<const double> b);
inline constexpr std::size_t kExactRankSum = 50;

}  // namespace epochbench
