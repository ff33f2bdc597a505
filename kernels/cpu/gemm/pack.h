// Copies operands of a matrix product into the order in which the microkernel reads them.
//
// B goes into panels of two vectors' width, k-major, one behind the other; the last one may be one vector wide. Missing
// columns are zero. A stays row by row (its rows are contiguous in k already), or k-major by tiles if it is transposed.
#pragma once

#include "kernels/cpu/gemm/microkernel.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

constexpr int kPanelColumns = 2 * kLanes;

// Floats of a k-row of all panels of n columns.
static inline std::int64_t packed_columns(std::int64_t n) { return round_up(n, kLanes); }

// Whether `rows` rows that lie `stride` floats apart crowd into too few sets of a first-level cache of 64 sets of 8 lines of
// 16 floats: what today's x86 cores have at least.
static inline bool rows_conflict(std::int64_t stride, std::int64_t rows) {
  if (stride % 16 != 0) return false;
  const std::int64_t lines = stride / 16, sets = 64 / min_of(64, lines & -lines);
  return divide_up(rows, sets) > 4;
}

// One panel of `columns` from b[k * stride + column].
void pack_panel(float* panel, const float* b, std::int64_t stride, std::int64_t k, std::int64_t columns);
// The same from the transposed b[column * stride + k].
void pack_panel_transposed(float* panel, const float* b, std::int64_t stride, std::int64_t k, std::int64_t columns);
// dst[row * dst_stride + k] = src[row * src_stride + k].
void copy_rows(float* dst, std::int64_t dst_stride, const float* src, std::int64_t src_stride, std::int64_t rows,
               std::int64_t k);

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
