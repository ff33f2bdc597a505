// The loops of the micro-kernel over k, for words of A that are broadcast one by one: products of floats, of pairs of Bf16 and
// of four bytes share them. Accumulators [rows][vectors] stay in registers.
#pragma once

#include <utility>

#include "kernels/cpu/gemm/multiply_steps.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// Address of row i of eight, or of word i of a step: base + i * stride by scaled index registers.
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

// Keeps the multiples of a stride for the addresses of kCount rows or words in registers.
template <int kCount>
static inline __attribute__((always_inline)) void keep(RowStrides& strides) {
  if constexpr (kCount > 1) opaque(strides.one);
  if constexpr (kCount > 3) opaque(strides.three);
  if constexpr (kCount > 5) opaque(strides.five);
  if constexpr (kCount > 7) opaque(strides.seven);
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
        keep<kRows>(strides);
#pragma GCC unroll 8
        for (int word = 0; word < kWords; ++word) {
          multiply_word(accumulators, b, layout, low, high, strides, std::make_integer_sequence<int, kRows>{});
          low += sizeof(Word);
          high += sizeof(Word);
          b += layout.step();
        }
      });
}

template <int kWord, typename Sum, int kRows, int kVectors>
static inline __attribute__((always_inline)) void multiply_column(Sum (&accumulators)[kRows][kVectors], const char* a,
                                                                  const char* b, const RowStrides& a_strides,
                                                                  const RowStrides& b_strides) {
  WordVec panel[kVectors];
#pragma GCC unroll 3
  for (int v = 0; v < kVectors; ++v) panel[v] = load(row_address<kWord>(b, b_strides) + v * kLanes);
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
    const WordVec value = broadcast(row_address<kWord>(a, a_strides) + row);
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) accumulators[row][v] = multiply_add(value, panel[v], accumulators[row][v]);
  }
}

template <typename Sum, int kRows, int kVectors, int... kWord>
static inline __attribute__((always_inline)) void multiply_columns(Sum (&accumulators)[kRows][kVectors], const char* a,
                                                                   const char* b, const RowStrides& a_strides,
                                                                   const RowStrides& b_strides,
                                                                   std::integer_sequence<int, kWord...>) {
  (multiply_column<kWord>(accumulators, a, b, a_strides, b_strides), ...);
}

// a [k, kRows] and b [k, kVectors] with these strides between words of k.
template <typename Sum, int kRows, int kVectors>
static inline __attribute__((always_inline)) void multiply_by_columns(Sum (&accumulators)[kRows][kVectors], const Word* a,
                                                                      const Word* b, std::int64_t k, RowStrides& a_strides,
                                                                      RowStrides& b_strides, Prefetcher* prefetcher) {
  const char* words_a = reinterpret_cast<const char*>(a);
  const char* words_b = reinterpret_cast<const char*>(b);
  multiply_in_steps(
      k, prefetcher, [&]<int kWords>(Words<kWords>) __attribute__((always_inline)) {
        opaque(words_a);
        opaque(words_b);
        keep<kWords>(a_strides);
        keep<kWords>(b_strides);
        multiply_columns(accumulators, words_a, words_b, a_strides, b_strides, std::make_integer_sequence<int, kWords>{});
        words_a += kWords * a_strides.one;
        words_b += kWords * b_strides.one;
      });
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
