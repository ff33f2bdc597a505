// The best of several candidates, and the repetitions that estimate it.
//
// The best of noisy numbers is on average not as good as it looks. So the even and the odd repetitions choose separately, and
// each half estimates what the other one chose. Where both choose the same candidate, all its repetitions estimate it
// (docs/statistics.md has the simulation).
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "src/figures/estimate.h"

namespace epochbench {

struct BestChoice {
  std::size_t place = 0;  // of the candidate that represents all: of those below the one whose own repetitions are better
  std::array<std::size_t, 2> by_half = {0, 0};  // the candidate that repetitions 0, 2, ... and 1, 3, ... estimate
  // A candidate has a single repetition, so the best one is estimated by those that chose it, and may look too good.
  bool same_repetitions = false;

  bool apart() const { return by_half[0] != by_half[1]; }
  std::size_t rival() const { return by_half[by_half[0] == place ? 1 : 0]; }
  // For ratio_estimate(): two halves of different candidates vary more than they show.
  double error() const { return apart() ? kError / 2 : kError; }
};

// Why the choice may not be the best, or looks too good, as a sentence that begins with its name; "" if neither.
// name(candidate) is a string.
std::string choice_doubt(const BestChoice& choice, std::size_t candidates, const auto& name) {
  if (choice.apart())
    return name(choice.place) + " is as fast as " + name(choice.rival()) +
           ": each was chosen by half of the repetitions, and is estimated by the other half";
  if (!choice.same_repetitions) return "";
  return name(choice.place) + " was chosen as the fastest of " + std::to_string(candidates) +
         " by the repetitions that estimate it, so it may look too fast (--repetitions 2 avoids that)";
}

// candidates[i]: one positive number per repetition; more is better. Precondition: at least one candidate, each with
// a number.
BestChoice choose_best(std::span<const std::vector<double>> candidates);

// The repetitions that estimate the choice; repetitions_of(candidate) is a vector.
template <typename Get>
auto estimating(const BestChoice& choice, const Get& repetitions_of) {
  auto all = repetitions_of(choice.place);
  if (!choice.apart()) return all;
  all.clear();
  for (std::size_t half = 0; half < 2; ++half) {
    const auto& own = repetitions_of(choice.by_half[half]);
    for (std::size_t i = half; i < own.size(); i += 2) all.push_back(own[i]);
  }
  return all;
}

}  // namespace epochbench
