// Sums over ranks, in rank order.
#pragma once

#include <cstddef>
#include <span>

namespace epochbench {

// sum [n] = parts[0] + parts[1] + …; `sum` may be one of them.
void ordered_sum(float* sum, std::span<const float* const> parts, std::size_t n);

// Errors: std::invalid_argument unless whole == part * ranks.
void require_rows(std::size_t whole, std::size_t part, int ranks);

}  // namespace epochbench
