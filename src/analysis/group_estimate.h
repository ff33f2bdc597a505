// Ratios of interleaved groups: pure functions over one number per round of each group of processes.
//
// The unit is the process: rounds of one group share its processes, so they support a range and no interval (estimate.h).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace epochbench {

enum class Spread : std::uint8_t {
  none,
  range,  // from the smallest to the largest: rounds of one group, or fewer groups than an interval takes
  ci95    // Student's, on the logarithms of at least kFewestRepetitions groups
};

struct GroupEstimate {
  double value = 0;
  std::pair<double, double> interval;  // of the kind that `spread` says
  Spread spread = Spread::none;
};

// The geometric mean of one positive number per group; of one group without a spread. Precondition: at least one.
GroupEstimate estimate_of_groups(const std::vector<double>& values);

// rounds[group][round], all positive: a group's number is the median of its rounds. Errors: std::invalid_argument without any.
GroupEstimate estimate_of_rounds(const std::vector<std::vector<double>>& rounds);

}  // namespace epochbench
