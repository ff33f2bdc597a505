// Which of several uncertain figures is the best one, and which others may be.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "src/figures/figure.h"

namespace epochbench {

// `ends`: the 95 % interval of a measurement over its processes, the 80 % interval of a prediction; empty: none is known.
struct RangedFigure {
  std::optional<double> value = {};
  std::optional<std::pair<double, double>> ends = {};
};

struct Leader {
  std::size_t place = 0, next = 0;  // of the best and of the second best value; of equal ones the first
  std::vector<std::size_t> rivals;  // those whose ends overlap with the leader's, the best value first
};

// Figures without a value take no part; one without ends stands for itself. Empty if fewer than two have a value.
std::optional<Leader> find_leader(const std::vector<RangedFigure>& figures, Better better);

}  // namespace epochbench
