// Products of operands that lie in cache: one packed operand, one thread, no blocking. For kernels that keep a working set of
// their own and multiply parts of it; a product of whole tensors is gemm.cpp's.
#pragma once

#include "kernels/cpu/gemm/pack.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// Floats between rows of an operand that lie an odd number of lines apart, so that rows spread over the sets of a cache.
static inline std::int64_t spread_stride(std::int64_t columns) {
  const std::int64_t lines = divide_up(columns, 16);
  return (lines % 2 == 0 ? lines + 1 : lines) * 16;
}

// Floats of all panels of a B [k, columns]; a multiple of 16.
static inline std::int64_t panels_floats(std::int64_t k, std::int64_t columns) {
  return round_up(k * packed_columns(columns), 16);
}

// All panels of B, from b[k * stride + column] or from the transposed b[column * stride + k].
void pack_panels(float* panels, const float* b, std::int64_t stride, std::int64_t k, std::int64_t columns);
void pack_panels_transposed(float* panels, const float* b, std::int64_t stride, std::int64_t k, std::int64_t columns);

struct SmallProduct {  // c [rows, columns] = (c +) a [rows, k] times b [k, columns]
  float* c;
  std::int64_t c_stride;
  const float* a;  // a[row * a_stride + k], or with AccessA::columns a[k * a_stride + row]
  std::int64_t a_stride;
  AccessA access;
  const float* b;  // panels
  std::int64_t rows, columns, k;
  bool accumulate;
};
void multiply_small(const SmallProduct& product);

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
