// Packing: contiguous vector copies, and a transpose in registers where B is stored by columns.
#include "kernels/cpu/gemm/pack.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {
namespace {

typedef std::int32_t VecLanes __attribute__((vector_size(sizeof(Vec))));

// Lane j of rows[i] becomes lane i of rows[j], by log2(kLanes) exchanges of blocks that halve each time.
template <int kBlock>
inline __attribute__((always_inline)) void transpose(Vec (&rows)[kLanes]) {
  if constexpr (kBlock > 0) {
    VecLanes low{}, high{};  // lanes of the pair (a, b), b's counted from kLanes
#pragma GCC unroll 16
    for (int lane = 0; lane < kLanes; ++lane) {
      const bool second = (lane & kBlock) != 0;
      low[lane] = second ? kLanes + lane - kBlock : lane;
      high[lane] = second ? kLanes + lane : lane + kBlock;
    }
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) {
      if ((i & kBlock) == 0) {
        const Vec a = rows[i], b = rows[i + kBlock];
        rows[i] = __builtin_shuffle(a, b, low);
        rows[i + kBlock] = __builtin_shuffle(a, b, high);
      }
    }
    transpose<kBlock / 2>(rows);
  }
}

inline Vec load_up_to(const float* p, std::int64_t count) {
  if (count >= kLanes) return load(p);
  return count > 0 ? load_partial(p, count) : zero_vector();
}

}  // namespace

void pack_panel(float* panel, const float* b, std::int64_t stride, std::int64_t k, std::int64_t columns) {
  const int vectors = panel_vectors(columns);
  const std::int64_t width = vectors * kLanes;
  if (columns == 2 * kLanes) {
    for (std::int64_t i = 0; i < k; ++i, panel += width, b += stride) {
      store(panel, load(b));
      store(panel + kLanes, load(b + kLanes));
    }
    return;
  }
  for (std::int64_t i = 0; i < k; ++i, panel += width, b += stride)
    for (int v = 0; v < vectors; ++v) store(panel + v * kLanes, load_up_to(b + v * kLanes, columns - v * kLanes));
}

void pack_panel_transposed(float* panel, const float* b, std::int64_t stride, std::int64_t k, std::int64_t columns) {
  const int vectors = panel_vectors(columns);
  const std::int64_t width = vectors * kLanes;
  for (std::int64_t i = 0; i < k; i += kLanes) {
    const std::int64_t depth = min_of(kLanes, k - i);
    for (int v = 0; v < vectors; ++v) {
      const float* source = b + v * kLanes * stride + i;
      const std::int64_t left = columns - v * kLanes;
      Vec rows[kLanes];
      if (left >= kLanes && depth == kLanes) {
#pragma GCC unroll 16
        for (int lane = 0; lane < kLanes; ++lane) rows[lane] = load(source + lane * stride);
      } else {
        for (int lane = 0; lane < kLanes; ++lane)
          rows[lane] = lane < left ? load_up_to(source + lane * stride, depth) : zero_vector();
      }
      transpose<kLanes / 2>(rows);
      float* target = panel + i * width + v * kLanes;
      if (depth == kLanes) {
#pragma GCC unroll 16
        for (int lane = 0; lane < kLanes; ++lane) store(target + lane * width, rows[lane]);
      } else {
        for (std::int64_t lane = 0; lane < depth; ++lane) store(target + lane * width, rows[lane]);
      }
    }
  }
}

void copy_rows(float* dst, std::int64_t dst_stride, const float* src, std::int64_t src_stride, std::int64_t rows,
               std::int64_t k) {
  for (std::int64_t row = 0; row < rows; ++row) {
    float* to = dst + row * dst_stride;
    const float* from = src + row * src_stride;
    std::int64_t i = 0;
    for (; i + kLanes <= k; i += kLanes) store(to + i, load(from + i));
    if (i < k) store_partial(to + i, load_partial(from + i, k - i), k - i);
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
