// The micro-kernel with AMX tiles: 32 x 32 accumulators in four tile registers, or 32 x 16 in two; "Intel 64 and IA-32
// Architectures Software Developer's Manual", TDPBF16PS. The epilogue uses vectors.
//
// The number of rows per tile register is part of the thread's state. Tiles of one product differ by at most one row (cut), so
// it seldom changes.
#include "kernels/cpu/gemm/microkernel.h"
#include "kernels/cpu/gemm/transpose.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {
namespace {

constexpr std::int64_t kRowBytes = 64;
constexpr int kColumns = 2 * kLanes;

__thread std::int64_t configured_rows = 0;  // rows that the tile registers are configured for; 0: none

void configure(std::int64_t rows) {
  if (configured_rows == rows) return;
  const TileConfig config = tile_config(rows);
  EPOCHBENCH_TILE_CONFIG(&config);
  configured_rows = rows;
}

// The last words of k, padded with zeros.
struct alignas(64) PaddedTail {
  Word a[2 * kTileRows][kTileDepth];
  Word b[kTileDepth][kColumns];
};

// a [rows, count] with this stride.
void copy_a(PaddedTail& tail, const Word* a, std::int64_t stride, std::int64_t rows, std::int64_t count) {
  for (std::int64_t row = 0; row < rows; ++row) store(tail.a[row], load_partial(a + row * stride, count));
}
// The same for a [count, rows].
void transpose_a(PaddedTail& tail, const Word* a, std::int64_t stride, std::int64_t rows, std::int64_t count) {
  for (std::int64_t row = 0; row < rows; row += kLanes) {
    WordVec square[kLanes];
    for (std::int64_t k = 0; k < kLanes; ++k)
      square[k] = k < count ? load_partial(a + k * stride + row, min_of(rows - row, kLanes)) : zero_word_vec();
    transpose<kLanes / 2>(square);
    for (std::int64_t i = 0; i < kLanes; ++i) store(tail.a[row + i], square[i]);
  }
}
void copy_b(PaddedTail& tail, const Word* b, std::int64_t stride, int vectors, std::int64_t count) {
  for (std::int64_t k = 0; k < kTileDepth; ++k)
    for (int v = 0; v < vectors; ++v)
      store(tail.b[k] + v * kLanes, k < count ? load(b + k * stride + v * kLanes) : zero_word_vec());
}

// Multiplies 16 words of k. Strides in bytes. B is larger than the L1 cache and A is not: TILELOADDT1 keeps B from evicting A.
template <bool kHigh, int kVectors>
inline __attribute__((always_inline)) void multiply_step(const Word* a, std::int64_t a_stride, const Word* b,
                                                         std::int64_t b_stride) {
  EPOCHBENCH_TILE_LOAD_T1(6, b, b_stride);
  EPOCHBENCH_TILE_LOAD(4, a, a_stride);
  EPOCHBENCH_TILE_MULTIPLY_ADD(0, 4, 6);
  if constexpr (kVectors > 1) {
    EPOCHBENCH_TILE_LOAD_T1(7, b + kLanes, b_stride);
    EPOCHBENCH_TILE_MULTIPLY_ADD(1, 4, 7);
  }
  if constexpr (kHigh) {
    EPOCHBENCH_TILE_LOAD(5, reinterpret_cast<const char*>(a) + kTileRows * a_stride, a_stride);
    EPOCHBENCH_TILE_MULTIPLY_ADD(2, 5, 6);
    if constexpr (kVectors > 1) EPOCHBENCH_TILE_MULTIPLY_ADD(3, 5, 7);
  }
}

template <AccessA kAccess, bool kHigh, int kVectors>
void multiply_segment(const Tile& tile, const Segment& segment, std::int64_t rows) {
  constexpr std::int64_t kBytes = sizeof(Word);
  const Word* a = segment.a + tile.a_offset;
  const Word* b = segment.b + tile.b_offset;
  const std::int64_t a_step = kAccess == AccessA::rows ? kTileDepth : kTileDepth * tile.a_stride;
  PaddedTail tail;
  std::int64_t left = tile.k;
  while (left >= kTileDepth) {
    for (std::int64_t steps = min_of(left / kTileDepth, kStoreSteps); steps > 0; --steps) {
      if constexpr (kAccess == AccessA::rows) {
        multiply_step<kHigh, kVectors>(a, tile.a_stride * kBytes, b, tile.b_stride * kBytes);
      } else {
        transpose_a(tail, a, tile.a_stride, rows, kTileDepth);
        multiply_step<kHigh, kVectors>(tail.a[0], kRowBytes, b, tile.b_stride * kBytes);
      }
      if (tile.prefetcher != nullptr) tile.prefetcher->fetch();
      left -= kTileDepth;
      a += a_step;
      b += kTileDepth * tile.b_stride;
    }
    if (left >= kTileDepth) EPOCHBENCH_TILE_STORE(6, tail.b[0], kRowBytes);
  }
  if (left == 0) return;
  if constexpr (kAccess == AccessA::rows) {
    copy_a(tail, a, tile.a_stride, rows, left);
  } else {
    transpose_a(tail, a, tile.a_stride, rows, left);
  }
  copy_b(tail, b, tile.b_stride, kVectors, left);
  multiply_step<kHigh, kVectors>(tail.a[0], kRowBytes, tail.b[0], sizeof tail.b[0]);
}

// Registers 0 to 3, from zero or from sums of whole vectors, which then need no addition in the epilogue.
template <bool kHigh, int kVectors>
void zero_accumulators() {
  EPOCHBENCH_TILE_ZERO(0);
  if constexpr (kVectors > 1) EPOCHBENCH_TILE_ZERO(1);
  if constexpr (kHigh) EPOCHBENCH_TILE_ZERO(2);
  if constexpr (kHigh && kVectors > 1) EPOCHBENCH_TILE_ZERO(3);
}
template <bool kHigh, int kVectors>
void load_accumulators(const float* sums, std::int64_t stride) {
  const std::int64_t bytes = stride * static_cast<std::int64_t>(sizeof(float));
  EPOCHBENCH_TILE_LOAD(0, sums, bytes);
  if constexpr (kVectors > 1) EPOCHBENCH_TILE_LOAD(1, sums + kLanes, bytes);
  if constexpr (kHigh) EPOCHBENCH_TILE_LOAD(2, sums + kTileRows * stride, bytes);
  if constexpr (kHigh && kVectors > 1) EPOCHBENCH_TILE_LOAD(3, sums + kTileRows * stride + kLanes, bytes);
}
template <bool kHigh, int kVectors>
void store_accumulators(float* accumulators, std::int64_t stride) {
  const std::int64_t bytes = stride * static_cast<std::int64_t>(sizeof(float));
  EPOCHBENCH_TILE_STORE(0, accumulators, bytes);
  if constexpr (kVectors > 1) EPOCHBENCH_TILE_STORE(1, accumulators + kLanes, bytes);
  if constexpr (kHigh) {
    EPOCHBENCH_TILE_STORE(2, accumulators + kTileRows * stride, bytes);
    if constexpr (kVectors > 1) EPOCHBENCH_TILE_STORE(3, accumulators + kTileRows * stride + kLanes, bytes);
  }
}

// The epilogue of whole rows of 32 columns: a row of Reals is one store.
template <bool kBias>
void wide_epilogue(const float* accumulators, const Tile& tile, std::int64_t rows) {
  const Vec floor = tile.relu ? zero_vector() : zero_vector() - __builtin_inff();
  Vec bias[2] = {zero_vector(), zero_vector()};
  if constexpr (kBias) {
    bias[0] = load_reals(tile.bias);
    bias[1] = load_reals(tile.bias + kLanes);
  }
  for (std::int64_t row = 0; row < rows; ++row, accumulators += kColumns) {
    Vec sums[2] = {load(accumulators), load(accumulators + kLanes)};
    for (int v = 0; v < 2; ++v) {
      if constexpr (kBias) sums[v] = sums[v] + bias[v];
      sums[v] = maximum(floor, sums[v]);
    }
    _mm512_storeu_si512(tile.y + row * tile.y_stride, (__m512i)_mm512_cvtne2ps_pbh(sums[1], sums[0]));
  }
}

// Whether the rows of a tile are whole vectors, so that tile registers can hold its sums.
bool is_whole(const Tile& tile) { return tile.columns % kLanes == 0; }

// Applies the epilogue and stores row by row.
void epilogue(const float* accumulators, const Tile& tile, std::int64_t rows) {
  if (tile.y != nullptr && tile.columns == kColumns) {
    (tile.bias != nullptr ? wide_epilogue<true> : wide_epilogue<false>)(accumulators, tile, rows);
    return;
  }
  const bool add = tile.accumulate && !is_whole(tile);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < tile.columns; column += kLanes) {
      const std::int64_t count = min_of(tile.columns - column, kLanes);
      float* const partial = tile.sum + row * tile.sum_stride + column;
      Vec sum = load(accumulators + row * kColumns + column);
      if (add) sum = sum + load_partial(partial, count);
      if (tile.y == nullptr) {
        store_partial(partial, sum, count);
        continue;
      }
      if (tile.bias != nullptr) sum = sum + load_reals_partial(tile.bias + column, count);
      if (tile.relu) sum = maximum(zero_vector(), sum);
      store_reals_partial(tile.y + row * tile.y_stride + column, sum, count);
    }
  }
}

template <AccessA kAccess, bool kHigh, int kVectors>
void compute_tile(const Tile& tile, std::int64_t rows) {
  configure(rows);
  if (tile.accumulate && is_whole(tile)) {
    load_accumulators<kHigh, kVectors>(tile.sum, tile.sum_stride);
  } else {
    zero_accumulators<kHigh, kVectors>();
  }
  for (std::int64_t s = 0; s < tile.segment_count; ++s)
    multiply_segment<kAccess, kHigh, kVectors>(tile, tile.segments[s], rows);
  if (tile.y == nullptr && is_whole(tile)) {
    store_accumulators<kHigh, kVectors>(tile.sum, tile.sum_stride);
    return;
  }
  alignas(64) float accumulators[2 * kTileRows * kColumns];
  store_accumulators<kHigh, kVectors>(accumulators, kColumns);
  epilogue(accumulators, tile, rows);
}

// One function per number of rows, because TileKernel has no argument for it.
template <AccessA kAccess, int kVectors, int kRows>
void compute_rows(const Tile& tile) {
  compute_tile<kAccess, (kRows > kTileRows), kVectors>(tile, kRows);
}
struct KernelsByRows {
  TileKernel by_rows[2 * kTileRows + 1];
};
template <AccessA kAccess, int kVectors, int kRows>
constexpr void fill(KernelsByRows& kernels) {
  kernels.by_rows[kRows] = &compute_rows<kAccess, kVectors, kRows>;
  if constexpr (kRows > 1) fill<kAccess, kVectors, kRows - 1>(kernels);
}
template <AccessA kAccess, int kVectors>
constexpr KernelsByRows make() {
  KernelsByRows kernels{};
  fill<kAccess, kVectors, kMr[kVectors]>(kernels);
  return kernels;
}
constexpr KernelsByRows kKernels[2][kMaxVectors] = {
    {make<AccessA::rows, 1>(), make<AccessA::rows, 2>()},
    {make<AccessA::columns, 1>(), make<AccessA::columns, 2>()},
};

}  // namespace

void configure_whole_tiles() { configure(2 * kTileRows); }

MicrokernelScope::MicrokernelScope() { configured_rows = 0; }
MicrokernelScope::~MicrokernelScope() {
  if (configured_rows != 0) EPOCHBENCH_TILE_RELEASE();
  configured_rows = 0;
}

TileKernel tile_kernel(AccessA access, std::int64_t rows, int vectors) {
  return kKernels[access == AccessA::columns][vectors - 1].by_rows[rows];
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
