// The numbers that every output shows for a case and its repetitions, so that tables, answers, pages and exports agree.
//
// A figure that is above 0 in every repetition is summarized by its geometric mean. Epoch, cost and energy are multiples of a
// repetition's seconds per sample, so they follow from the samples per second that are shown, and a ratio is the quotient of
// two shown numbers.
#pragma once

#include <optional>
#include <vector>

#include "src/figures/estimate.h"
#include "src/figures/figure.h"

namespace epochbench {

using Repetitions = std::vector<const Run*>;  // of one case; seeds are repetitions

// One for each repetition that is ok and knows the figure.
std::vector<double> values_of(const Repetitions& runs, const Figure& figure);

// Over these values. Only a geometric mean has a spread. Empty if there are none, if one of those whose mean is geometric is
// not above 0, or if amounts are in several currencies.
std::optional<GroupEstimate> summarize(const Repetitions& runs, const Figure& figure);

// The energy of an epoch: that of all parts of the device, or else of the only part that is known.
struct KnownPart {
  std::optional<GroupEstimate> joules_per_epoch = {};
  const char* part = "";  // "GPU", "CPU"; "" for all, or if none is known
};
KnownPart known_energy(const Repetitions& runs);

}  // namespace epochbench
