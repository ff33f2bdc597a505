// The loop of the micro-kernel over k, for rows of A that are broadcast word by word: products of floats, of pairs of Bf16 and
// of four bytes share it. Accumulators [rows][vectors] stay in registers.
#pragma once

#include "kernels/cpu/gemm/microkernel.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// Where B has the vectors of a word of k: at vector(0), vector(1), ..., and step() words further for the next one.
template <int kVectors>
struct PackedB {  // vectors side by side; constant offsets
  static constexpr std::int64_t vector(int v) { return v * kLanes; }
  static constexpr std::int64_t step() { return kVectors * kLanes; }
};
struct StridedB {  // rows of a matrix
  std::int64_t stride;
  static constexpr std::int64_t vector(int v) { return v * kLanes; }
  std::int64_t step() const { return stride; }
};
struct PanelsB {  // a panel per vector
  std::int64_t apart;
  std::int64_t vector(int v) const { return v * apart; }
  static constexpr std::int64_t step() { return kLanes; }
};

// Hides the origin of a value, so that the compiler keeps the few address registers below instead of one per row.
template <typename T>
static inline void opaque(T& value) {
  asm("" : "+r"(value));
}

// Address of row i of eight: base + i * stride by scaled index registers.
struct RowStrides {
  std::int64_t one, three, five, seven;  // multiples of the stride, in bytes
};
static inline RowStrides row_strides(std::int64_t a_stride) {
  const std::int64_t stride = a_stride * static_cast<std::int64_t>(sizeof(Word));
  return {stride, 3 * stride, 5 * stride, 7 * stride};
}
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

// A number of words along k that is known at compile time.
template <int kWords>
struct Words {};

// Calls multiply(Words<kPrefetchStep>) and then multiply(Words<1>) until all `k` words are done, with prefetches in between.
// The words of a step are addressed by constant offsets: an integer instruction can take the port of a multiply-add, which uses
// two ports in every cycle.
template <typename Multiply>
static inline __attribute__((always_inline)) void multiply_in_steps(std::int64_t k, Prefetcher* prefetcher,
                                                                    const Multiply& multiply) {
  std::int64_t left = k;
  for (; left >= kPrefetchStep; left -= kPrefetchStep) {
    multiply(Words<kPrefetchStep>{});
    if (prefetcher != nullptr) prefetcher->fetch();
  }
  for (; left > 0; --left) multiply(Words<1>{});
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
