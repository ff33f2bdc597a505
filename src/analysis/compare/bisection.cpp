#include "src/analysis/compare/bisection.h"

#include <algorithm>
#include <bit>

#include "src/base/rank_shift.h"

namespace epochbench {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

Level look(std::span<const double> log_ratios, double middle) {
  const RankShift shift = paired_shift(log_ratios);
  if (const auto lower = shift.lower(kBisectError); lower && *lower > middle) return Level::slow;
  if (const auto upper = shift.upper(kBisectError); upper && *upper < middle) return Level::fast;
  return Level::unknown;
}

// The commit nearest to the middle of those between `fast` and `slow` that the search has not passed over; kNone: none is left.
std::size_t nearest_to_middle(const std::vector<Level>& levels, std::size_t fast, std::size_t slow) {
  const std::size_t first = fast + 1, middle = first + (slow - first) / 2;
  for (std::size_t distance = 0; distance < slow - first; ++distance) {
    if (middle + distance < slow && levels[middle + distance] == Level::unknown) return middle + distance;
    if (middle >= first + distance && levels[middle - distance] == Level::unknown) return middle - distance;
  }
  return kNone;
}

}  // namespace

LevelFound level_of(std::span<const double> log_ratios, double middle, std::size_t max_pairs) {
  for (const std::size_t planned : kBisectLooks) {
    const std::size_t pairs = std::min(planned, max_pairs);
    if (log_ratios.size() < pairs) return {Level::unknown, pairs};
    if (const Level level = look(log_ratios.first(pairs), middle); level != Level::unknown) return {level, 0};
    if (pairs == max_pairs) return {Level::undecided, 0};
  }
  if (log_ratios.size() < max_pairs) return {Level::unknown, max_pairs};
  const Level level = look(log_ratios.first(max_pairs), middle);
  return {level == Level::unknown ? Level::undecided : level, 0};
}

// The search is repeated from its beginning, so it depends only on what was measured. A commit that cannot be measured was
// passed over when the search came to it; leaving it out from the beginning changes no earlier choice.
Bisection bisect(std::span<const BisectedCommit> commits, double middle, std::size_t max_pairs) {
  Bisection state;
  state.levels.assign(commits.size(), Level::unknown);
  for (std::size_t i = 0; i < commits.size(); ++i)
    if (commits[i].skipped) state.levels[i] = Level::skipped;
  state.levels.back() = Level::slow;
  std::size_t fast = kNone, slow = commits.size() - 1;
  while (true) {
    const std::size_t index = nearest_to_middle(state.levels, fast, slow);
    if (index == kNone) break;
    const LevelFound found = level_of(commits[index].log_ratios, middle, max_pairs);
    if (found.wanted > 0) {
      state.next = index;
      state.pairs = found.wanted;
      const auto open = std::count(state.levels.begin() + static_cast<std::ptrdiff_t>(fast + 1),
                                   state.levels.begin() + static_cast<std::ptrdiff_t>(slow), Level::unknown);
      state.max_left = static_cast<std::size_t>(std::bit_width(static_cast<std::size_t>(open)));
      break;
    }
    state.levels[index] = found.level;
    if (found.level == Level::fast) fast = index;
    if (found.level == Level::slow) slow = index;
  }
  if (fast != kNone) state.last_fast = fast;
  state.first_slow = slow;
  return state;
}

}  // namespace epochbench
