// Random words of dropout masks: Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
// kernels/shapes.h defines which word belongs to which element.
#pragma once

#include "kernels/cuda/device_code.cuh"

namespace epochbench::cuda {

struct DropoutWords {  // of elements 4 * block to 4 * block + 3
  std::uint32_t word[4];
};

__device__ inline DropoutWords dropout_words(const Dropout& dropout, std::int32_t step, std::int64_t block) {
  std::uint32_t c0 = static_cast<std::uint32_t>(block), c1 = static_cast<std::uint32_t>(step), c2 = dropout.ordinal,
                c3 = 4;  // RandomStream::dropout
  std::uint32_t key0 = static_cast<std::uint32_t>(dropout.seed), key1 = static_cast<std::uint32_t>(dropout.seed >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c0, p1 = std::uint64_t{0xCD9E8D57u} * c2;
    c0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ key0;
    c1 = static_cast<std::uint32_t>(p1);
    c2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ key1;
    c3 = static_cast<std::uint32_t>(p0);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

// The value of an element with this random word: a dropped element is 0, even if it was a NaN.
__device__ inline float dropped_out(float value, std::uint32_t word, const Dropout& dropout) {
  return word >= dropout.threshold ? value * dropout.scale : 0;
}

// Drops out the elements first + i of a tensor; both `first` and dropout.first are multiples of 4, or kCount is 1. A part of a
// batch holds whole rows, so this holds wherever rows are read in vectors.
template <int kCount>
__device__ inline void drop_out(float (&values)[kCount], std::int64_t first, std::int32_t step, const Dropout& dropout) {
  static_assert(kCount == 1 || kCount % 4 == 0);
  if constexpr (kCount == 1) {
    first += dropout.first;
    values[0] = dropped_out(values[0], dropout_words(dropout, step, first / 4).word[first % 4], dropout);
  } else {
    const auto blocks_before = static_cast<std::uint32_t>(dropout.first / 4);  // modulo 2^32, as the counter: fewer registers
    for (int i = 0; i < kCount; i += 4) {
      const DropoutWords random = dropout_words(dropout, step, static_cast<std::uint32_t>((first + i) / 4) + blocks_before);
      for (int j = 0; j < 4; ++j) values[i + j] = dropped_out(values[i + j], random.word[j], dropout);
    }
  }
}

}  // namespace epochbench::cuda
