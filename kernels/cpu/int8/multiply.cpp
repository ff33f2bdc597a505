// Sums of a block of rows by vectors: tiles of kMr[2] rows by two vectors, or kMr[1] rows by one, whose sums are in registers
// for all of k. A panel of 16 columns is one vector with AVX-512, and two otherwise. multiply_amx.cpp has the same for AMX.
#include "kernels/cpu/gemm/multiply_rows.h"
#include "kernels/cpu/int8/product.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {
namespace {

struct SumCall {
  std::int32_t* sums;  // [rows, kSumStride]
  const Word *a, *b;
  std::int64_t a_stride, panel;  // words between rows of A, and between panels of B
  std::int64_t k;
  Prefetcher* prefetcher;
};

template <int kRows, int kVectors>
void sum_tile(const SumCall& call) {
  WordVec sums[kRows][kVectors];
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sums[row][v] = WordVec{};
  }
  RowStrides strides = row_strides(call.a_stride);
  constexpr std::int64_t kPanel = 16;
  if constexpr (kLanes < kPanel && kVectors == 1) {
    multiply_by_rows(sums, call.a, call.b, StridedB{kPanel}, call.k, strides, call.prefetcher);
  } else if constexpr (kLanes < kPanel || kVectors == 1) {
    multiply_by_rows(sums, call.a, call.b, PackedB<kVectors>{}, call.k, strides, call.prefetcher);
  } else {
    multiply_by_rows(sums, call.a, call.b, PanelsB{call.panel}, call.k, strides, call.prefetcher);
  }
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v)
      __builtin_memcpy(call.sums + row * kSumStride + v * kLanes, &sums[row][v], sizeof(WordVec));
  }
}

using SumKernel = void (*)(const SumCall&);
struct KernelsByRows {
  SumKernel by_rows[17];
};
template <int kVectors, int kRows>
constexpr void fill(KernelsByRows& kernels) {
  kernels.by_rows[kRows] = &sum_tile<kRows, kVectors>;
  if constexpr (kRows > 1) fill<kVectors, kRows - 1>(kernels);
}
template <int kVectors>
constexpr KernelsByRows make() {
  KernelsByRows kernels{};
  fill<kVectors, kMr[kVectors]>(kernels);
  return kernels;
}
constexpr KernelsByRows kKernels[] = {make<1>(), make<2>()};

// The rows of A after `rows` of a block; hardware follows only a few of a tile's rows.
PrefetchRows rows_after(const Block& block, Range rows, const Tiles& tiles, std::int64_t t) {
  if (t + 1 >= tiles.count) return {};
  const std::int64_t row_bytes = block.a_stride * static_cast<std::int64_t>(sizeof(Activation));
  return {reinterpret_cast<const char*>(block.a + rows.end * block.a_stride), 1, (tiles[t + 1].end - rows.end) * row_bytes, 0};
}

// Sums are complete only after all of k: enough time to prefetch their destination.
void prefetch_output(const Product& product, std::int64_t row, std::int64_t rows, std::int64_t column) {
  const std::int64_t bytes = product.epilogue.y_range != nullptr ? 1 : 4, stride = product.shape.out_channels * bytes;
  const char* y = static_cast<const char*>(product.y) + row * stride + column * bytes;
  for (; rows > 0; --rows, y += stride) {
    __builtin_prefetch(y, 1);
    if (bytes > 1) __builtin_prefetch(y + 64, 1);
  }
}

}  // namespace

void multiply_block(const Product& product, const Block& block) {
  const Range columns = block.columns;
  const std::int64_t depth = panel_words(product.shape);
  alignas(64) std::int32_t sums[16 * kSumStride];
  SumCall call{};
  call.sums = sums;
  call.a_stride = block.a_stride / kWordDepth;
  call.panel = depth * kLanes;
  call.k = product.plan.k;
  const Tiles tiles = cut(block.rows.end - block.rows.begin, kMr[panel_vectors(columns.end - columns.begin)]);
  const std::int64_t fetches = divide_up(columns.end - columns.begin, kNr) * max_of(call.k / kPrefetchStep, 1);
  Prefetcher prefetcher;
  call.prefetcher = &prefetcher;
  for (std::int64_t t = 0; t < tiles.count; ++t) {
    const Range rows = tiles[t];
    prefetcher = {};
    if (block.in_memory) prefetcher.now = rows_after(block, rows, tiles, t);
    prefetcher.lines = divide_up(prefetcher.now.lines(), fetches);
    call.a = reinterpret_cast<const Word*>(block.a + rows.begin * block.a_stride);
    for (std::int64_t column = columns.begin; column < columns.end; column += kNr) {
      const std::int64_t count = min_of(kNr, columns.end - column);
      call.b = reinterpret_cast<const Word*>(product.weights + column * depth * kWordDepth);
      prefetch_output(product, block.rows.begin + rows.begin, rows.end - rows.begin, column);
      kKernels[panel_vectors(count) - 1].by_rows[rows.end - rows.begin](call);
      finish_tile(product, {sums, block.rows.begin + rows.begin, rows.end - rows.begin, column, count});
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
