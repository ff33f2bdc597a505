// The microkernel, one instance a tile shape. Shapes below the largest serve the edges, so no tile computes rows in vain.
#include "kernels/cpu/gemm/microkernel.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {
namespace {

// Hides where a value comes from, so that the compiler keeps the few address registers below instead of one a row.
template <typename T>
inline void opaque(T& value) {
  asm("" : "+r"(value));
}

// Address of row i out of eight: base + i * stride by scaled index registers.
struct RowStrides {
  std::int64_t one, three, five, seven;  // multiples of the stride, in bytes
};
template <int kRow>
inline const Word* row_address(const char* base, const RowStrides& strides) {
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

template <int kRow, int kRows, int kVectors>
inline __attribute__((always_inline)) void multiply_rows(Vec (&sum)[kRows][kVectors], const Words (&b)[kVectors],
                                                         const char* low, const char* high, const RowStrides& strides) {
  if constexpr (kRow < kRows) {
    const Words a = broadcast(row_address<kRow % 8>(kRow < 8 ? low : high, strides));
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) sum[kRow][v] = multiply_add(a, b[v], sum[kRow][v]);
    multiply_rows<kRow + 1>(sum, b, low, high, strides);
  }
}

// multiply_some(depth) for all of k, with what is fetched ahead in between.
template <typename MultiplySome>
inline __attribute__((always_inline)) void in_steps(const Tile& tile, const MultiplySome& multiply_some) {
  Ahead* const ahead = tile.ahead;
  std::int64_t left = tile.k;
  if (ahead != nullptr) {
    for (; left > kAheadStep; left -= kAheadStep) {
      multiply_some(kAheadStep);
      ahead->fetch();
    }
  }
  multiply_some(left);
}

template <int kRows, int kVectors>
inline __attribute__((always_inline)) void multiply_by_rows(Vec (&sum)[kRows][kVectors], const Tile& tile,
                                                            const Segment& segment, RowStrides& strides) {
  static_assert(kRows <= 16, "two base addresses of eight rows");
  const char* low = reinterpret_cast<const char*>(segment.a + tile.a_offset);
  const char* high = low + 8 * strides.one;
  const Word* b = segment.b + tile.b_offset;
  const std::int64_t b_stride = tile.b_stride;
  const auto multiply_some = [&](std::int64_t depth) __attribute__((always_inline)) {
#pragma GCC unroll 4  // fewer and better predicted branches: a segment of a convolution is short
    for (std::int64_t k = depth; k > 0; --k) {
      opaque(low);
      if constexpr (kRows > 8) opaque(high);
      opaque(strides.one);
      if constexpr (kRows > 3) opaque(strides.three);
      if constexpr (kRows > 5) opaque(strides.five);
      if constexpr (kRows > 7) opaque(strides.seven);
      Words panel[kVectors];
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) panel[v] = load(b + v * kLanes);
      multiply_rows<0>(sum, panel, low, high, strides);
      low += sizeof(Word);
      high += sizeof(Word);
      b += b_stride;
    }
  };
  in_steps(tile, multiply_some);
}

template <int kRows, int kVectors>
inline __attribute__((always_inline)) void multiply_by_columns(Vec (&sum)[kRows][kVectors], const Tile& tile,
                                                               const Segment& segment) {
  const Word* a = segment.a + tile.a_offset;
  const Word* b = segment.b + tile.b_offset;
  const std::int64_t a_stride = tile.a_stride, b_stride = tile.b_stride;
  const auto multiply_some = [&](std::int64_t depth) __attribute__((always_inline)) {
#pragma GCC unroll 4  // as above
    for (std::int64_t k = depth; k > 0; --k) {
      Words panel[kVectors];
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) panel[v] = load(b + v * kLanes);
#pragma GCC unroll 16
      for (int row = 0; row < kRows; ++row) {
        const Words value = broadcast(a + row);
#pragma GCC unroll 3
        for (int v = 0; v < kVectors; ++v) sum[row][v] = multiply_add(value, panel[v], sum[row][v]);
      }
      a += a_stride;
      b += b_stride;
    }
  };
  in_steps(tile, multiply_some);
}

// Adds what is asked for and stores the first `columns` columns of vector kVector.
template <int kVector, bool kPartial, int kRows, int kVectors>
inline __attribute__((always_inline)) void finish_vector(Vec (&sum)[kRows][kVectors], const Tile& tile) {
  float* const partial = tile.sum + kVector * kLanes;
  const std::int64_t sum_stride = tile.sum_stride, y_stride = tile.y_stride, columns = tile.columns - kVector * kLanes;
  if (tile.accumulate) {
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
      const float* p = partial + row * sum_stride;
      sum[row][kVector] = sum[row][kVector] + (kPartial ? load_partial(p, columns) : load(p));
    }
  }
  if (tile.y == nullptr) {
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
      float* p = partial + row * sum_stride;
      if constexpr (kPartial) {
        store_partial(p, sum[row][kVector], columns);
      } else {
        store(p, sum[row][kVector]);
      }
    }
    return;
  }
  if (tile.bias != nullptr) {
    const Real* p = tile.bias + kVector * kLanes;
    const Vec bias = kPartial ? load_reals_partial(p, columns) : load_reals(p);
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) sum[row][kVector] = sum[row][kVector] + bias;
  }
  if (tile.relu) {
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) sum[row][kVector] = maximum(zero_vector(), sum[row][kVector]);
  }
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
    Real* p = tile.y + kVector * kLanes + row * y_stride;
    if constexpr (kPartial) {
      store_reals_partial(p, sum[row][kVector], columns);
    } else {
      store_reals(p, sum[row][kVector]);
    }
  }
}

template <int kRows, int kVectors>
inline __attribute__((always_inline)) void finish(Vec (&sum)[kRows][kVectors], const Tile& tile) {
  if constexpr (kVectors > 1) finish_vector<0, false>(sum, tile);
  if constexpr (kVectors > 2) finish_vector<1, false>(sum, tile);
  if (tile.columns == kVectors * kLanes) {
    finish_vector<kVectors - 1, false>(sum, tile);
  } else {
    finish_vector<kVectors - 1, true>(sum, tile);
  }
}

// The sum is ready only after all of k: time enough to fetch where it goes.
template <int kRows, int kVectors, typename Number>
inline __attribute__((always_inline)) void prefetch(Number* c, std::int64_t stride) {
  constexpr int kLine = 64 / sizeof(Number);
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v)
      if (v * kLanes % kLine == 0) __builtin_prefetch(c + row * stride + v * kLanes, 1);
  }
}

template <AccessA kAccess, int kRows, int kVectors>
void compute_tile(const Tile& tile) {
  if (tile.y != nullptr) {
    prefetch<kRows, kVectors>(tile.y, tile.y_stride);
  } else {
    prefetch<kRows, kVectors>(tile.sum, tile.sum_stride);
  }
  Vec sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) sum[row][v] = zero_vector();
  }
  const std::int64_t stride = tile.a_stride * static_cast<std::int64_t>(sizeof(Word));
  RowStrides strides{stride, 3 * stride, 5 * stride, 7 * stride};
  for (std::int64_t s = 0; s < tile.segment_count; ++s) {
    if constexpr (kAccess == AccessA::rows) {
      multiply_by_rows(sum, tile, tile.segments[s], strides);
    } else {
      multiply_by_columns(sum, tile, tile.segments[s]);
    }
  }
  finish(sum, tile);
}

// kernels[rows] of one width, filled downward from the largest.
struct KernelsByRows {
  TileKernel by_rows[17];
};
template <AccessA kAccess, int kVectors, int kRows>
constexpr void fill(KernelsByRows& kernels) {
  kernels.by_rows[kRows] = &compute_tile<kAccess, kRows, kVectors>;
  if constexpr (kRows > 1) fill<kAccess, kVectors, kRows - 1>(kernels);
}
template <AccessA kAccess, int kVectors>
constexpr KernelsByRows make() {
  KernelsByRows kernels{};
  fill<kAccess, kVectors, kMaxRows[kVectors]>(kernels);
  return kernels;
}

constexpr KernelsByRows kKernels[2][kMaxVectors] = {
    {make<AccessA::rows, 1>(), make<AccessA::rows, 2>(), make<AccessA::rows, 3>()},
    {make<AccessA::columns, 1>(), make<AccessA::columns, 2>(), make<AccessA::columns, 3>()},
};

}  // namespace

TileKernel tile_kernel(AccessA access, std::int64_t rows, int vectors) {
  return kKernels[access == AccessA::columns][vectors - 1].by_rows[rows];
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
