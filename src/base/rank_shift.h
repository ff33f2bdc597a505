// How far numbers are shifted, from their ranks alone: the Hodges-Lehmann estimate with exact bounds and p-values.
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
// The estimate is their median; a bound is the candidate at the statistic's quantile (Hodges and Lehmann, "Estimates of
// location based on rank tests", Annals of Mathematical Statistics 34, 1963).
//
// Ties and zeros: nothing is dropped and no mean ranks are used. A candidate of exactly 0 counts for neither direction, so
// p-values and bounds agree with each other (a bound beyond 0 at a level means a p-value of at most that level) and err on the
// safe side if numbers are coarse.
class RankShift {
 public:
  // `candidates` in any order, at least one; `at_most[k]` = the probability, without a shift, of k or fewer of them below 0.
  RankShift(std::vector<double> candidates, std::vector<double> at_most);

  double estimate() const;

  // One-sided bounds: the shift is beyond it with a probability of at most `level`. None if the level is below smallest_p():
  // there are too few numbers for such a level.
  std::optional<double> lower(double level) const;
  std::optional<double> upper(double level) const;

  double p_above() const;     // the probability of this much evidence for a shift above 0, if there is none
  double p_below() const;     // the same for a shift below 0
  double smallest_p() const;  // that this many numbers can have: 1 / 2^n for n pairs, 1 / (n + m choose n) for two samples

 private:
  std::optional<std::size_t> counted_off(double level) const;

  std::vector<double> candidates_;  // ascending
  std::vector<double> at_most_;     // one per count, from 0 to all candidates
};

// From one number per pair; at least one, all finite. Exact up to 1,000 pairs and beyond, in O(n^3) time and O(n^2) memory.
RankShift paired_shift(std::span<const double> differences);

// How far `b` is above `a`; at least one number per side, all finite. Exact up to kExactRankSum per side. Beyond it, p-values
// are those of the normal approximation with continuity correction; small ones err on the safe side: at 50 per side by a
// relative 2 % if the exact value is 1 %, and by 12 % if it is 0.1 %.
RankShift unpaired_shift(std::span<const double> a, std::span<const double> b);
inline constexpr std::size_t kExactRankSum = 50;

}  // namespace epochbench
