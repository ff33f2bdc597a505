// Code shared by the loops of the micro-kernel over k: the layouts of B, and the division of k into steps. multiply_rows.h has
// the loops for instruction sets that broadcast from memory, multiply_lanes.h those for NEON.
#pragma once

#include "kernels/cpu/gemm/microkernel.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// Where the vectors of B are for a word of k: at vector(0), vector(1), ..., and step() words further for the next word.
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

// For addresses of rows, base + i * stride.
struct RowStrides {
  std::int64_t one, three, five, seven;  // multiples of the stride, in bytes
};
static inline RowStrides row_strides(std::int64_t a_stride) {
  const std::int64_t stride = a_stride * static_cast<std::int64_t>(sizeof(Word));
  return {stride, 3 * stride, 5 * stride, 7 * stride};
}
// A number of words along k that is known at compile time.
template <int kWords>
struct Words {};

// Calls multiply(Words<kPrefetchStep>) and then multiply(Words<1>) until all `k` words are done, with prefetches in between.
// The words of a step are addressed by constant offsets: an integer instruction can take a port from the multiply-adds, which
// use two ports in every cycle.
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

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
