#include "src/communication/ordered_sum.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace epochbench {

// In blocks that stay in the L1 cache, because each part takes one pass over the sum.
void ordered_sum(float* sum, std::span<const float* const> parts, std::size_t n) {
  constexpr std::size_t kBlock = 2048;
  float block[kBlock];
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    const std::size_t size = std::min(kBlock, n - begin);
    std::copy_n(parts[0] + begin, size, block);
    for (std::size_t k = 1; k < parts.size(); ++k) {
      const float* part = parts[k] + begin;
      for (std::size_t i = 0; i < size; ++i) block[i] += part[i];
    }
    std::copy_n(block, size, sum + begin);
  }
}

void require_rows(std::size_t whole, std::size_t part, int ranks) {
  if (whole != part * static_cast<std::size_t>(ranks))
    throw std::invalid_argument(std::to_string(whole) + " elements are not " + std::to_string(ranks) + " times " +
                                std::to_string(part));
}

}  // namespace epochbench
