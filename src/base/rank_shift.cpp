#include "src/base/rank_shift.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace epochbench {
namespace {

std::vector<double> accumulated(std::vector<double> probabilities) {
  std::partial_sum(probabilities.begin(), probabilities.end(), probabilities.begin());
  return probabilities;
}

// The distribution function of the sum of the ranks 1 to n, where each counts with a probability of one half.
std::vector<double> signed_rank_distribution(std::size_t n) {
  std::vector<double> probability(n * (n + 1) / 2 + 1);
  probability[0] = 1;
  for (std::size_t rank = 1, highest = 1; rank <= n; highest += ++rank)
    for (std::size_t sum = highest + 1; sum-- > 0;)
      probability[sum] = (probability[sum] + (sum >= rank ? probability[sum - rank] : 0)) / 2;
  return accumulated(std::move(probability));
}

// The distribution function of the number of pairs, one of n and one of m numbers, in which the former is larger. The largest
// of all is one of the n with a probability of n / (n + m), and then larger than all m (Mann and Whitney's recurrence).
std::vector<double> rank_sum_distribution(std::size_t n, std::size_t m) {
  std::vector<std::vector<double>> probability(m + 1, std::vector<double>(n * m + 1));  // [j][count], of i and j numbers
  for (auto& of_none : probability) of_none[0] = 1;
  for (std::size_t i = 1; i <= n; ++i)
    for (std::size_t j = 1; j <= m; ++j) {
      const double share = static_cast<double>(i) / static_cast<double>(i + j);
      for (std::size_t count = i * j + 1; count-- > 0;)
        probability[j][count] = share * (count >= j ? probability[j][count - j] : 0) + (1 - share) * probability[j - 1][count];
    }
  return accumulated(std::move(probability[m]));
}

std::vector<double> normal_rank_sum_distribution(std::size_t n, std::size_t m) {
  const auto pairs = static_cast<double>(n * m);
  const double deviation = std::sqrt(pairs * static_cast<double>(n + m + 1) / 12);
  std::vector<double> at_most(n * m + 1);
  for (std::size_t count = 0; count < at_most.size(); ++count)
    at_most[count] = std::erfc((pairs / 2 - static_cast<double>(count) - 0.5) / (deviation * std::sqrt(2.0))) / 2;
  return at_most;
}

}  // namespace

RankShift::RankShift(std::vector<double> candidates, std::vector<double> at_most)
    : candidates_(std::move(candidates)), at_most_(std::move(at_most)) {
  std::sort(candidates_.begin(), candidates_.end());
}

double RankShift::estimate() const {
  const std::size_t last = candidates_.size() - 1;
  return std::midpoint(candidates_[last / 2], candidates_[last - last / 2]);
}

// How many candidates are beyond a bound of this level: the largest number that is that rare.
std::optional<std::size_t> RankShift::counted_off(double level) const {
  const auto rarer = std::upper_bound(at_most_.begin(), at_most_.end(), level) - at_most_.begin();
  if (rarer == 0) return std::nullopt;
  return std::min(static_cast<std::size_t>(rarer), candidates_.size()) - 1;
}

std::optional<double> RankShift::lower(double level) const {
  const auto beyond = counted_off(level);
  return beyond ? std::optional(candidates_[*beyond]) : std::nullopt;
}

std::optional<double> RankShift::upper(double level) const {
  const auto beyond = counted_off(level);
  return beyond ? std::optional(candidates_[candidates_.size() - 1 - *beyond]) : std::nullopt;
}

double RankShift::p_above() const {
  return at_most_[static_cast<std::size_t>(std::upper_bound(candidates_.begin(), candidates_.end(), 0.0) -
                                           candidates_.begin())];
}

double RankShift::p_below() const {
  return at_most_[static_cast<std::size_t>(candidates_.end() - std::lower_bound(candidates_.begin(), candidates_.end(), 0.0))];
}

double RankShift::smallest_p() const { return at_most_.front(); }

RankShift paired_shift(std::span<const double> differences) {
  std::vector<double> walsh_averages;
  for (std::size_t i = 0; i < differences.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j) walsh_averages.push_back(std::midpoint(differences[i], differences[j]));
  return {std::move(walsh_averages), signed_rank_distribution(differences.size())};
}

RankShift unpaired_shift(std::span<const double> a, std::span<const double> b) {
  std::vector<double> differences;
  for (const double from : a)
    for (const double to : b) differences.push_back(to - from);
  const bool exact = std::max(a.size(), b.size()) <= kExactRankSum;
  return {std::move(differences),
          exact ? rank_sum_distribution(a.size(), b.size()) : normal_rank_sum_distribution(a.size(), b.size())};
}

}  // namespace epochbench
