// The loop of the micro-kernel over k, for rows of A that are broadcast word by word: products of floats, of pairs of Bf16 and
// of four bytes share it. Accumulators [rows][vectors] stay in registers.
#pragma once

#include <utility>

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

// The functions below are expanded over rows and words rather than recursive: the compiler optimizes each function of a
// recursion again with all that it has inlined, which took twice as long.
template <int kRow, typename Sum, int kRows, int kVectors>
static inline __attribute__((always_inline)) void multiply_row(Sum (&accumulators)[kRows][kVectors],
                                                               const WordVec (&b)[kVectors], const char* low, const char* high,
                                                               const RowStrides& strides) {
  const WordVec a = broadcast(row_address<kRow % 8>(kRow < 8 ? low : high, strides));
#pragma GCC unroll 3
  for (int v = 0; v < kVectors; ++v) accumulators[kRow][v] = multiply_add(a, b[v], accumulators[kRow][v]);
}

template <typename LayoutB, typename Sum, int kRows, int kVectors, int... kRow>
static inline __attribute__((always_inline)) void multiply_word(Sum (&accumulators)[kRows][kVectors], const Word* b,
                                                                const LayoutB& layout, const char* low, const char* high,
                                                                const RowStrides& strides,
                                                                std::integer_sequence<int, kRow...>) {
  WordVec panel[kVectors];
#pragma GCC unroll 3
  for (int v = 0; v < kVectors; ++v) panel[v] = load(b + layout.vector(v));
  (multiply_row<kRow>(accumulators, panel, low, high, strides), ...);
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
#pragma GCC unroll 8
        for (int word = 0; word < kWords; ++word) {
          multiply_word(accumulators, b, layout, low, high, strides, std::make_integer_sequence<int, kRows>{});
          low += sizeof(Word);
          high += sizeof(Word);
          b += layout.step();
        }
      });
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
