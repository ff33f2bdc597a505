// The loop of the micro-kernel over k, for rows of A that are broadcast word by word: products of floats, of pairs of Bf16 and
// of four bytes share it. Accumulators [rows][vectors] stay in registers.
#pragma once

#include "kernels/cpu/gemm/multiply_steps.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// Address of row i of eight: base + i * stride by scaled index registers.
template <int kRow>
static inline const Word* row_address(const char* base, const RowStrides& strides) {
  static_assert(kRow >= 0 && kRow < 8);
  if constexpr (kRow == 0) return reinterpret_cast<const Word*>(base);
  if constexpr (kRow == 1) return reinterpret_cast<const Word*>(base + strides.one);
  if constexpr (kRow == 2) return reinterpret_cast<const Word*>(base + strides.one * 2);
  if constexpr (kRow == 3) return reinterpret_cast<const Word*>(base + strides.three);
  if constexpr (kRow == 4) return reinterpret_cast<const Word*>(base + strides.one * 4);
  if constexpr (kRow == 5) return reinterpret_cast<const Word*>(base + strides.five);
  if constexpr (kRow == 6) return reinterpret_cast<const Word*>(base + strides.three * 2);
  if constexpr (kRow == 7) return reinterpret_cast<const Word*>(base + strides.seven);
}

template <int kRow, typename Sum, int kRows, int kVectors>
static inline __attribute__((always_inline)) void multiply_rows(Sum (&accumulators)[kRows][kVectors],
                                                                const WordVec (&b)[kVectors], const char* low, const char* high,
                                                                const RowStrides& strides) {
  if constexpr (kRow < kRows) {
    const WordVec a = broadcast(row_address<kRow % 8>(kRow < 8 ? low : high, strides));
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) accumulators[kRow][v] = multiply_add(a, b[v], accumulators[kRow][v]);
    multiply_rows<kRow + 1>(accumulators, b, low, high, strides);
  }
}

// Multiplies `left` words.
template <int kLeft, typename LayoutB, typename Sum, int kRows, int kVectors>
static inline __attribute__((always_inline)) void multiply_words(Sum (&accumulators)[kRows][kVectors], const Word* b,
                                                                 const LayoutB& layout, const char* low, const char* high,
                                                                 const RowStrides& strides) {
  WordVec panel[kVectors];
#pragma GCC unroll 3
  for (int v = 0; v < kVectors; ++v) panel[v] = load(b + layout.vector(v));
  multiply_rows<0>(accumulators, panel, low, high, strides);
  if constexpr (kLeft > 1)
    multiply_words<kLeft - 1>(accumulators, b + layout.step(), layout, low + sizeof(Word), high + sizeof(Word), strides);
}

// a [kRows, k] with these strides between rows, b [k, kVectors].
template <typename LayoutB, typename Sum, int kRows, int kVectors>
static inline __attribute__((always_inline)) void multiply_by_rows(Sum (&accumulators)[kRows][kVectors], const Word* a,
                                                                   const Word* b, LayoutB layout, std::int64_t k,
                                                                   RowStrides& strides, Prefetcher* prefetcher) {
  static_assert(kRows <= 16, "two base addresses of eight rows");
  const char* low = reinterpret_cast<const char*>(a);
  const char* high = low + 8 * strides.one;
  multiply_in_steps(
      k, prefetcher, [&]<int kWords>(Words<kWords>) __attribute__((always_inline)) {
        opaque(low);
        if constexpr (kRows > 8) opaque(high);
        opaque(strides.one);
        if constexpr (kRows > 3) opaque(strides.three);
        if constexpr (kRows > 5) opaque(strides.five);
        if constexpr (kRows > 7) opaque(strides.seven);
        multiply_words<kWords>(accumulators, b, layout, low, high, strides);
        low += kWords * sizeof(Word);
        high += kWords * sizeof(Word);
        b += kWords * layout.step();
      });
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
