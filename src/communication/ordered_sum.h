// Sums over ranks, in the order of the ranks, and who computes which part of one.
#pragma once

#include <cstddef>
#include <span>

namespace epochbench {

struct Share {
  std::size_t first = 0, count = 0;
};
// Of `values` elements, those that `rank` of `ranks` sums; whole cache lines, so that no two ranks write to one.
Share share_of(std::size_t values, int rank, int ranks);

// sum [n] = parts[0] + parts[1] + …; `sum` may be one of them.
void ordered_sum(float* sum, std::span<const float* const> parts, std::size_t n);

// Errors: std::invalid_argument unless whole == part * ranks.
void require_rows(std::size_t whole, std::size_t part, int ranks);

}  // namespace epochbench
