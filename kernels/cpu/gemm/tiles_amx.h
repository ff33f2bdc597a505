// 32 x 32 accumulators in four tile registers: the loops that products and convolutions share. Registers are used as
// configure_whole_tiles describes. Only in builds with AMX tiles.
#pragma once

#include "kernels/cpu/gemm/microkernel.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

constexpr std::int64_t kTilePair = 2 * kTileRows;  // rows or columns of the accumulators
constexpr std::int64_t kTileFloats = kTilePair * kTilePair;
constexpr std::int64_t kTileStride = kTilePair * 4;  // bytes between rows of accumulators in memory

// Steps of a tile of A, 32 rows of 64 bytes each, that stays in an L1 cache of 48 KiB while panels of B pass by: 32 KiB.
constexpr std::int64_t kTileSteps = 16;
// Whether 32 adjacent rows of whole cache lines suit that cache of 64 sets and 12 ways in place: few enough of the lines of a
// tile, `steps` of each row, are in the same set.
static inline bool rows_suit_l1(std::int64_t lines, std::int64_t steps) {
  const std::int64_t apart = min_of(64, lines & -lines);
  const std::int64_t rows_in_set = divide_up(kTilePair * apart, 64), overlapping = divide_up(min_of(steps, lines), apart);
  return rows_in_set * overlapping <= 10;
}

// The order of 32 columns of B that interleaving two rows in registers gives: position p holds this column.
static constexpr std::int64_t interleaved_column(std::int64_t position) {
  return (position & 12) * 2 + (position >> 4) * 4 + (position & 3);
}

// Lanes [begin, end) of a vector of 32 Reals; both may be outside.
static inline __mmask32 lanes_between(std::int64_t begin, std::int64_t end) {
  const auto below = [](std::int64_t n) { return n <= 0 ? 0u : 0xffffffffu >> (kTilePair - min_of(n, kTilePair)); };
  return below(end) & ~below(begin);
}

// Strides in bytes, all multiples of 64 for speed. A has its second 16 rows at `a_high`.
struct TileStrides {
  std::int64_t a, a_high, a_step, b, b_step;
  std::int64_t b_panel = 64;  // from a vector of B to the next one, if each has its own panel
};

template <int kVectors = 2>
static inline __attribute__((always_inline)) void zero_sums() {
  EPOCHBENCH_TILE_ZERO(0);
  EPOCHBENCH_TILE_ZERO(2);
  if constexpr (kVectors < 2) return;
  EPOCHBENCH_TILE_ZERO(1);
  EPOCHBENCH_TILE_ZERO(3);
}
// sums [32, 32]
template <int kVectors = 2, typename Sum>
static inline __attribute__((always_inline)) void load_sums(const Sum* sums) {
  EPOCHBENCH_TILE_LOAD(0, sums, kTileStride);
  if constexpr (kVectors > 1) EPOCHBENCH_TILE_LOAD(1, sums + kLanes, kTileStride);
  EPOCHBENCH_TILE_LOAD(2, sums + kTileRows * kTilePair, kTileStride);
  if constexpr (kVectors > 1) EPOCHBENCH_TILE_LOAD(3, sums + kTileRows * kTilePair + kLanes, kTileStride);
}
template <int kVectors = 2, typename Sum>
static inline __attribute__((always_inline)) void store_sums(Sum* sums) {
  EPOCHBENCH_TILE_STORE(0, sums, kTileStride);
  EPOCHBENCH_TILE_STORE(2, sums + kTileRows * kTilePair, kTileStride);
  if constexpr (kVectors < 2) return;
  EPOCHBENCH_TILE_STORE(1, sums + kLanes, kTileStride);
  EPOCHBENCH_TILE_STORE(3, sums + kTileRows * kTilePair + kLanes, kTileStride);
}

// Cache lines that are prefetched while tiles multiply: `count` of them, `stride` bytes apart.
struct PrefetchLines {
  const char* at;
  std::int64_t stride, count;
};

// Multiplies 16 words of k per step, with B one or two vectors wide, and prefetches: for writing into the L1 cache, or for
// reading into cache level 2. A step has no branch, which would cost a fifth of the rate.
template <int kVectors, int kLinesPerStep, int kLevel = 1, bool kPanels = false>
static inline __attribute__((always_inline)) void multiply_steps(const char* a, const char* b, const TileStrides& stride,
                                                                 std::int64_t steps, PrefetchLines& lines) {
  for (; steps > 0; --steps) {
    EPOCHBENCH_TILE_LOAD_T1(6, b, stride.b);
    EPOCHBENCH_TILE_LOAD(4, a, stride.a);
    EPOCHBENCH_TILE_MULTIPLY_ADD(0, 4, 6);
    if constexpr (kVectors > 1) {
      EPOCHBENCH_TILE_LOAD_T1(7, b + (kPanels ? stride.b_panel : 64), stride.b);
      EPOCHBENCH_TILE_MULTIPLY_ADD(1, 4, 7);
    }
    EPOCHBENCH_TILE_LOAD(5, a + stride.a_high, stride.a);
    EPOCHBENCH_TILE_MULTIPLY_ADD(2, 5, 6);
    if constexpr (kVectors > 1) EPOCHBENCH_TILE_MULTIPLY_ADD(3, 5, 7);
#pragma GCC unroll 4
    for (int line = 0; line < kLinesPerStep; ++line) {
      if constexpr (kLevel == 1) __builtin_prefetch(lines.at, 1, 3);
      if constexpr (kLevel == 2) __builtin_prefetch(lines.at, 0, 2);
      lines.at += lines.stride;
    }
    a += stride.a_step;
    b += stride.b_step;
  }
}

// Steps between the parts in which the previous tile is finished, and between stores of tiles.
constexpr std::int64_t kStepsAtOnce = 4;
static_assert(2 * kStepsAtOnce - 1 <= kStoreSteps);  // the last part takes what is left

// Multiplies `steps` steps, with at most kLines lines prefetched in each, and calls finish(rows) in between, with 32 rows at
// the end, so that vectors finish the previous tile while tiles multiply.
template <int kVectors, int kLines, bool kPanels, typename Finish>
static inline __attribute__((always_inline)) void multiply_and_finish(const char* a, const char* b, const TileStrides& stride,
                                                                      std::int64_t steps, PrefetchLines lines, Finish finish) {
  alignas(64) char scratch[1024];
  const std::int64_t parts = max_of(steps / kStepsAtOnce, 1);
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t count = part + 1 < parts ? kStepsAtOnce : steps - part * kStepsAtOnce;
    multiply_steps<kVectors, kLines, 1, kPanels>(a, b, stride, count, lines);
    a += count * stride.a_step;
    b += count * stride.b_step;
    finish(kTilePair * (part + 1) / parts);
    if (part + 1 < parts) EPOCHBENCH_TILE_STORE(6, scratch, 64);
  }
}

struct Progress {
  PrefetchLines lines;
  void* scratch;            // 1 KiB, aligned to 64 bytes
  std::int64_t steps_left;  // until the next store
};

// Any number of steps, with stores every kStoreSteps.
template <int kVectors, int kLinesPerStep, int kLevel = 1>
static inline void multiply_deep(const char* a, const char* b, const TileStrides& stride, std::int64_t steps,
                                 Progress& progress) {
  while (steps > 0) {
    const std::int64_t now = min_of(steps, progress.steps_left);
    multiply_steps<kVectors, kLinesPerStep, kLevel>(a, b, stride, now, progress.lines);
    a += now * stride.a_step;
    b += now * stride.b_step;
    steps -= now;
    progress.steps_left -= now;
    if (progress.steps_left > 0) continue;
    EPOCHBENCH_TILE_STORE(6, progress.scratch, 64);
    progress.steps_left = kStoreSteps;
    progress.lines.count -= kStoreSteps * kLinesPerStep;
    if (progress.lines.count <= 0) progress.lines.stride = 0;
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
