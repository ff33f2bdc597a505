// Whether a dropout mask keeps an element, as kernels/shapes.h defines it.
#pragma once

#include <cstdint>

#include "kernels/shapes.h"

namespace epochbench::reference {

// The factor of element `index` of the tensor at this step: 0 or dropout.scale. Philox 4x32-10 (Salmon et al. 2011).
inline double dropout_factor(const Dropout& dropout, std::int32_t step, std::int64_t index) {
  index += dropout.first;
  std::uint32_t counter[4] = {static_cast<std::uint32_t>(index / 4), static_cast<std::uint32_t>(step), dropout.ordinal,
                              4};  // RandomStream::dropout
  std::uint32_t key[2] = {static_cast<std::uint32_t>(dropout.seed), static_cast<std::uint32_t>(dropout.seed >> 32)};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * counter[0], p1 = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter[0] = static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key[0];
    counter[1] = static_cast<std::uint32_t>(p1);
    counter[2] = static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key[1];
    counter[3] = static_cast<std::uint32_t>(p0);
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter[index % 4] >= dropout.threshold ? static_cast<double>(dropout.scale) : 0;
}

}  // namespace epochbench::reference
