// Random words of dropout masks: Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011), many
// blocks side by side in vector lanes. kernels/shapes.h says which word belongs to which element.
#pragma once

#include "kernels/cpu/isa.h"
#include "kernels/shapes.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

constexpr std::uint32_t kDropoutStream = 4;  // RandomStream::dropout

// words [4 * blocks]: word i belongs to element 4 * first_block + i.
static inline void philox_words(std::uint32_t* words, std::int64_t first_block, std::int64_t blocks, std::int32_t step,
                                const Dropout& dropout) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53u, kMultiplier1 = 0xCD9E8D57u;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9u, kWeyl1 = 0xBB67AE85u;
  const auto key0 = static_cast<std::uint32_t>(dropout.seed), key1 = static_cast<std::uint32_t>(dropout.seed >> 32);
  const auto first = static_cast<std::uint32_t>(first_block), step_bits = static_cast<std::uint32_t>(step);
  const std::uint32_t ordinal = dropout.ordinal;
#pragma omp simd
  for (std::int64_t block = 0; block < blocks; ++block) {
    std::uint32_t c0 = first + static_cast<std::uint32_t>(block), c1 = step_bits, c2 = ordinal, c3 = kDropoutStream;
#pragma GCC unroll 10
    for (std::uint32_t round = 0; round < 10; ++round) {
      const std::uint64_t p0 = kMultiplier0 * c0, p1 = kMultiplier1 * c2;
      c0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ (key0 + round * kWeyl0);
      c1 = static_cast<std::uint32_t>(p1);
      c2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ (key1 + round * kWeyl1);
      c3 = static_cast<std::uint32_t>(p0);
    }
    words[4 * block] = c0;
    words[4 * block + 1] = c1;
    words[4 * block + 2] = c2;
    words[4 * block + 3] = c3;
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
