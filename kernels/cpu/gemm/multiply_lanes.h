// The loops of the micro-kernel over k for NEON, whose multiply-add takes one factor from a lane of a register: a row of A is
// loaded for several words of k at once, by one load that needs no arithmetic unit. A broadcast from memory would need one.
#pragma once

#include "kernels/cpu/gemm/multiply_steps.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// Consecutive words as the lanes of a register.
static inline float32x2_t load_lanes(Words<1>, const Word* p) { return float32x2_t{*p, 0}; }
static inline float32x2_t load_lanes(Words<2>, const Word* p) { return vld1_f32(p); }
static inline float32x4_t load_lanes(Words<4>, const Word* p) { return vld1q_f32(p); }
// sum + a[kLane] * b. Inline assembly in the order of the source: for the intrinsic, g++ emits one load per lane, and in its
// own order it needs more registers than there are.
template <int kLane, typename Row>
static inline __attribute__((always_inline)) Vec multiply_add_lane(Row a, WordVec b, Vec sum) {
  asm volatile("fmla %0.4s, %1.4s, %2.s[%c3]" : "+w"(sum) : "w"(b), "w"(a), "i"(kLane));
  return sum;
}

template <int kWord, int kWords, typename Row, int kVectors>
static inline __attribute__((always_inline)) void multiply_row(Vec (&sums)[kVectors], Row a,
                                                               const WordVec (&b)[kWords][kVectors]) {
  if constexpr (kWord < kWords) {
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) sums[v] = multiply_add_lane<kWord>(a, b[kWord][v], sums[v]);
    multiply_row<kWord + 1>(sums, a, b);
  }
}

// Multiplies kLeft words from word kAt on, `kTogether` at a time.
template <int kAt, int kLeft, int kTogether, typename LayoutB, int kRows, int kVectors>
static inline __attribute__((always_inline)) void multiply_words(Vec (&accumulators)[kRows][kVectors],
                                                                 const char* (&rows)[kRows], const Word* b,
                                                                 const LayoutB& layout) {
  if constexpr (kLeft > 0) {
    constexpr int kWords = kLeft < kTogether ? 1 : kTogether;
    WordVec panel[kWords][kVectors];
#pragma GCC unroll 4
    for (int word = 0; word < kWords; ++word) {
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) panel[word][v] = load(b + word * layout.step() + layout.vector(v));
    }
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row)
      multiply_row<0>(accumulators[row], load_lanes(Words<kWords>{}, reinterpret_cast<const Word*>(rows[row]) + kAt), panel);
    multiply_words<kAt + kWords, kLeft - kWords, kTogether>(accumulators, rows, b + kWords * layout.step(), layout);
  }
}

// a [kRows, k] with this stride between rows, in bytes; b [k, kVectors]. An address is a register plus either a constant or
// another register, not both, so each row has a register.
template <typename LayoutB, int kRows, int kVectors>
static inline __attribute__((always_inline)) void multiply_by_rows(Vec (&accumulators)[kRows][kVectors], const Word* a,
                                                                   const Word* b, LayoutB layout, std::int64_t k,
                                                                   RowStrides& strides, Prefetcher* prefetcher) {
  // Four words if their vectors of B fit in the registers beside the accumulators.
  constexpr int kFitting = kRows * kVectors + 4 * kVectors <= 28 ? 4 : 2;
  constexpr int kTogether = kFitting < kPrefetchStep ? kFitting : static_cast<int>(kPrefetchStep);
  const char* rows[kRows];
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) rows[row] = reinterpret_cast<const char*>(a) + row * strides.one;
  multiply_in_steps(
      k, prefetcher, [&]<int kWords>(Words<kWords>) __attribute__((always_inline)) {
#pragma GCC unroll 16
        for (int row = 0; row < kRows; ++row) opaque(rows[row]);
        multiply_words<0, kWords, kTogether>(accumulators, rows, b, layout);
#pragma GCC unroll 16
        for (int row = 0; row < kRows; ++row) rows[row] += kWords * sizeof(Word);
        b += kWords * layout.step();
      });
}

// The rows of one word of k, adjacent in memory, from row kRow on: four, two or one at a time, so that nothing outside is read.
template <int kRow = 0, int kRows, int kVectors>
static inline __attribute__((always_inline)) void multiply_column(Vec (&accumulators)[kRows][kVectors], const Word* a,
                                                                  const WordVec (&b)[kVectors]) {
  if constexpr (kRow < kRows) {
    constexpr int kCount = kRows - kRow >= 4 ? 4 : kRows - kRow >= 2 ? 2 : 1;
    const auto lanes = load_lanes(Words<kCount>{}, a + kRow);
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) {
      accumulators[kRow][v] = multiply_add_lane<0>(lanes, b[v], accumulators[kRow][v]);
      if constexpr (kCount > 1) accumulators[kRow + 1][v] = multiply_add_lane<1>(lanes, b[v], accumulators[kRow + 1][v]);
      if constexpr (kCount > 2) {
        accumulators[kRow + 2][v] = multiply_add_lane<2>(lanes, b[v], accumulators[kRow + 2][v]);
        accumulators[kRow + 3][v] = multiply_add_lane<3>(lanes, b[v], accumulators[kRow + 3][v]);
      }
    }
    multiply_column<kRow + kCount>(accumulators, a, b);
  }
}

// a [k, kRows] and b [k, kVectors] with these strides between words of k.
template <int kRows, int kVectors>
static inline __attribute__((always_inline)) void multiply_by_columns(Vec (&accumulators)[kRows][kVectors], const Word* a,
                                                                      const Word* b, std::int64_t k,
                                                                      const RowStrides& a_strides, const RowStrides& b_strides,
                                                                      Prefetcher* prefetcher) {
  const std::int64_t a_stride = a_strides.one / static_cast<std::int64_t>(sizeof(Word));
  const std::int64_t b_stride = b_strides.one / static_cast<std::int64_t>(sizeof(Word));
  multiply_in_steps(
      k, prefetcher, [&]<int kWords>(Words<kWords>) __attribute__((always_inline)) {
#pragma GCC unroll 8
        for (int word = 0; word < kWords; ++word) {
          WordVec panel[kVectors];
#pragma GCC unroll 3
          for (int v = 0; v < kVectors; ++v) panel[v] = load(b + v * kLanes);
          multiply_column(accumulators, a, panel);
          a += a_stride;
          b += b_stride;
        }
      });
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
