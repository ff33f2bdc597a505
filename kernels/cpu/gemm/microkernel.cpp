// The micro-kernel, one instance per tile shape. Smaller shapes serve the edges, so no tile computes unused rows.
#include "kernels/cpu/gemm/microkernel.h"

#if EPOCHBENCH_BFMMLA
#include "kernels/cpu/gemm/multiply_blocks.h"
#elif EPOCHBENCH_NEON
#include "kernels/cpu/gemm/multiply_lanes.h"
#else
#include "kernels/cpu/gemm/multiply_rows.h"
#endif

namespace epochbench::cpu::EPOCHBENCH_ISA {
namespace {

// The epilogue of the first `columns` columns of vector kVector: partial sums, bias, relu, store.
template <int kVector, bool kPartial, int kRows, int kVectors>
inline __attribute__((always_inline)) void vector_epilogue(Vec (&accumulators)[kRows][kVectors], const Tile& tile) {
  float* const partial = tile.sum + kVector * kLanes;
  const std::int64_t sum_stride = tile.sum_stride, y_stride = tile.y_stride, columns = tile.columns - kVector * kLanes;
  if (tile.accumulate) {
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
      const float* p = partial + row * sum_stride;
      accumulators[row][kVector] = accumulators[row][kVector] + (kPartial ? load_partial(p, columns) : load(p));
    }
  }
  if (tile.y == nullptr) {
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
      float* p = partial + row * sum_stride;
      if constexpr (kPartial) {
        store_partial(p, accumulators[row][kVector], columns);
      } else {
        store(p, accumulators[row][kVector]);
      }
    }
    return;
  }
  if (tile.bias != nullptr) {
    const Real* p = tile.bias + kVector * kLanes;
    const Vec bias = kPartial ? load_reals_partial(p, columns) : load_reals(p);
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) accumulators[row][kVector] = accumulators[row][kVector] + bias;
  }
  if (tile.relu) {
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) accumulators[row][kVector] = maximum(zero_vector(), accumulators[row][kVector]);
  }
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
    Real* p = tile.y + kVector * kLanes + row * y_stride;
    if constexpr (kPartial) {
      store_reals_partial(p, accumulators[row][kVector], columns);
    } else {
      store_reals(p, accumulators[row][kVector]);
    }
  }
}

template <int kRows, int kVectors>
inline __attribute__((always_inline)) void epilogue(Vec (&accumulators)[kRows][kVectors], const Tile& tile) {
  if constexpr (kVectors > 1) vector_epilogue<0, false>(accumulators, tile);
  if constexpr (kVectors > 2) vector_epilogue<1, false>(accumulators, tile);
  if (tile.columns == kVectors * kLanes) {
    vector_epilogue<kVectors - 1, false>(accumulators, tile);
  } else {
    vector_epilogue<kVectors - 1, true>(accumulators, tile);
  }
}

// The accumulators are complete only after all of k: enough time to prefetch their destination.
template <int kRows, int kVectors, typename Number>
inline __attribute__((always_inline)) void prefetch_output(Number* c, std::int64_t stride) {
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
    prefetch_output<kRows, kVectors>(tile.y, tile.y_stride);
  } else {
    prefetch_output<kRows, kVectors>(tile.sum, tile.sum_stride);
  }
  Vec accumulators[kRows][kVectors];
#if EPOCHBENCH_BFMMLA
  multiply_by_blocks<kAccess>(accumulators, tile);
#else
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) accumulators[row][v] = zero_vector();
  }
  RowStrides strides = row_strides(tile.a_stride);
  [[maybe_unused]] RowStrides b_strides = row_strides(tile.b_stride);
  for (std::int64_t s = 0; s < tile.segment_count; ++s) {
    const Word* const a = tile.segments[s].a + tile.a_offset;
    const Word* const b = tile.segments[s].b + tile.b_offset;
    if constexpr (kAccess == AccessA::columns) {
      multiply_by_columns(accumulators, a, b, tile.k, strides, b_strides, tile.prefetcher);
    } else if (tile.b_stride == kVectors * kLanes) {
      multiply_by_rows(accumulators, a, b, PackedB<kVectors>{}, tile.k, strides, tile.prefetcher);
    } else {
      multiply_by_rows(accumulators, a, b, StridedB{tile.b_stride}, tile.k, strides, tile.prefetcher);
    }
  }
#endif
  epilogue(accumulators, tile);
}

// kernels[rows] of one width, filled from the largest down.
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
  fill<kAccess, kVectors, kMr[kVectors]>(kernels);
  return kernels;
}

constexpr KernelsByRows kKernels[2][kMaxVectors] = {
    {make<AccessA::rows, 1>(), make<AccessA::rows, 2>()},  // conv2d/grad_weight.cpp alone has tiles of three, by columns
    {make<AccessA::columns, 1>(), make<AccessA::columns, 2>(), make<AccessA::columns, 3>()},
};

}  // namespace

TileKernel tile_kernel(AccessA access, std::int64_t rows, int vectors) {
  return kKernels[access == AccessA::columns][vectors - 1].by_rows[rows];
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
