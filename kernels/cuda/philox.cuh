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

// The words of four elements from `first` on, where that is not a multiple of 4: of two blocks, moved by a part of a block.
__device__ inline DropoutWords unaligned_words(const Dropout& dropout, std::int32_t step, std::int64_t first) {
  const DropoutWords a = dropout_words(dropout, step, first / 4), b = dropout_words(dropout, step, first / 4 + 1);
  const bool by_one = first % 2 != 0, by_two = first % 4 >= 2;
  const std::uint32_t w[7] = {a.word[0], a.word[1], a.word[2], a.word[3], b.word[0], b.word[1], b.word[2]};
  DropoutWords moved;
#pragma unroll  // an index that is not constant would put the words into local memory
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t two = by_two ? w[i + 2] : w[i];
    const std::uint32_t three = by_two ? w[i + 3 < 7 ? i + 3 : 6] : w[i + 1];
    moved.word[i] = by_one ? three : two;
  }
  return moved;
}

// Drops out the elements first + i of a tensor; `first` is a multiple of kCount, or kCount is 1. dropout.first need not be.
template <int kCount>
__device__ inline void drop_out(float (&values)[kCount], std::int64_t first, std::int32_t step, const Dropout& dropout) {
  static_assert(kCount == 1 || kCount % 4 == 0);
  first += dropout.first;
  for (int i = 0; i < kCount; i += 4) {
    const bool whole_block = kCount == 1 || dropout.first % 4 == 0;
    const DropoutWords random =
        whole_block ? dropout_words(dropout, step, (first + i) / 4) : unaligned_words(dropout, step, first + i);
    if constexpr (kCount == 1)
      values[0] = dropped_out(values[0], random.word[first % 4], dropout);
    else
      for (int j = 0; j < 4; ++j) values[i + j] = dropped_out(values[i + j], random.word[j], dropout);
  }
}

}  // namespace epochbench::cuda
