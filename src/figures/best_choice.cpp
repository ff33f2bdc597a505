#include "src/figures/best_choice.h"

#include <algorithm>

#include "src/base/statistics.h"

namespace epochbench {
namespace {

// The candidate with the largest geometric mean of the repetitions first, first + step, ...; the first of equals.
std::size_t best_by(std::span<const std::vector<double>> candidates, std::size_t first, std::size_t step) {
  std::vector<double> means;
  for (const std::vector<double>& all : candidates) {
    std::vector<double> some;
    for (std::size_t i = first; i < all.size(); i += step) some.push_back(all[i]);
    means.push_back(geometric_mean(some));
  }
  return static_cast<std::size_t>(std::ranges::max_element(means) - means.begin());
}

}  // namespace

BestChoice choose_best(std::span<const std::vector<double>> candidates) {
  BestChoice choice{best_by(candidates, 0, 1)};
  choice.by_half = {choice.place, choice.place};
  if (candidates.size() == 1) return choice;
  choice.same_repetitions = std::ranges::any_of(candidates, [](const auto& all) { return all.size() < 2; });
  if (choice.same_repetitions) return choice;
  choice.by_half = {best_by(candidates, 1, 2), best_by(candidates, 0, 2)};
  const auto [a, b] = choice.by_half;
  choice.place = geometric_mean(candidates[b]) > geometric_mean(candidates[a]) ? b : a;
  return choice;
}

}  // namespace epochbench
