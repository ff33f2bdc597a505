// 32 x 32 accumulators in four tile registers: the loops that convolutions share. Registers as configure_whole_tiles says. Only
// in builds with AMX tiles.
#pragma once

#include "kernels/cpu/gemm/microkernel.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

constexpr std::int64_t kTilePair = 2 * kTileRows;  // rows or columns of the accumulators
constexpr std::int64_t kTileFloats = kTilePair * kTilePair;
constexpr std::int64_t kTileStride = kTilePair * 4;  // bytes between rows of accumulators in memory

// Strides in bytes, all multiples of 64 for speed. A has its second 16 rows at `a_high`.
struct TileStrides {
  std::int64_t a, a_high, a_step, b, b_step;
};

static inline void zero_sums() {
  EPOCHBENCH_TILE_ZERO(0);
  EPOCHBENCH_TILE_ZERO(1);
  EPOCHBENCH_TILE_ZERO(2);
  EPOCHBENCH_TILE_ZERO(3);
}
// sums [32, 32]
static inline void load_sums(const float* sums) {
  EPOCHBENCH_TILE_LOAD(0, sums, kTileStride);
  EPOCHBENCH_TILE_LOAD(1, sums + kLanes, kTileStride);
  EPOCHBENCH_TILE_LOAD(2, sums + kTileRows * kTilePair, kTileStride);
  EPOCHBENCH_TILE_LOAD(3, sums + kTileRows * kTilePair + kLanes, kTileStride);
}
static inline void store_sums(float* sums) {
  EPOCHBENCH_TILE_STORE(0, sums, kTileStride);
  EPOCHBENCH_TILE_STORE(1, sums + kLanes, kTileStride);
  EPOCHBENCH_TILE_STORE(2, sums + kTileRows * kTilePair, kTileStride);
  EPOCHBENCH_TILE_STORE(3, sums + kTileRows * kTilePair + kLanes, kTileStride);
}

// Multiplies 16 words of k per step and prefetches four cache lines per step from `prefetch` on. Without a branch in the step,
// which would cost a fifth of the rate.
static inline __attribute__((always_inline)) void multiply_steps(const char* a, const char* b, const TileStrides& stride,
                                                                 std::int64_t steps, const char*& prefetch) {
  for (; steps > 0; --steps) {
    EPOCHBENCH_TILE_LOAD_T1(6, b, stride.b);
    EPOCHBENCH_TILE_LOAD(4, a, stride.a);
    EPOCHBENCH_TILE_MULTIPLY_ADD(0, 4, 6);
    EPOCHBENCH_TILE_LOAD_T1(7, b + 64, stride.b);
    EPOCHBENCH_TILE_MULTIPLY_ADD(1, 4, 7);
    EPOCHBENCH_TILE_LOAD(5, a + stride.a_high, stride.a);
    EPOCHBENCH_TILE_MULTIPLY_ADD(2, 5, 6);
    EPOCHBENCH_TILE_MULTIPLY_ADD(3, 5, 7);
#pragma GCC unroll 4
    for (int line = 0; line < 4; ++line) __builtin_prefetch(prefetch + line * 64, 0, 3);
    prefetch += 256;
    a += stride.a_step;
    b += stride.b_step;
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
