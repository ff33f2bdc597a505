// Products of operands that lie in cache: one packed operand, one thread, no blocking. For kernels that keep a working set of
// their own and multiply parts of it; a product of whole tensors is gemm.cpp's.
#pragma once

#include "kernels/cpu/gemm/pack.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// Words of all panels of a B [k, columns]; a multiple of 16. k in Reals, as everywhere but in SmallProduct.
static inline std::int64_t panels_words(std::int64_t k, std::int64_t columns) {
  return round_up(words_of(k) * packed_columns(columns), 16);
}

// All panels of B, from b[k * stride + column] or from the transposed b[column * stride + k].
void pack_panels(Word* panels, const Real* b, std::int64_t stride, std::int64_t k, std::int64_t columns);
void pack_panels_transposed(Word* panels, const Real* b, std::int64_t stride, std::int64_t k, std::int64_t columns);

struct SmallProduct {  // sum [rows, columns] = (sum +) a [rows, k] times b [k, columns]
  float* sum;
  std::int64_t sum_stride;
  const Word* a;  // a[row * a_stride + k], or with AccessA::columns a[k * a_stride + row]
  std::int64_t a_stride;
  AccessA access;
  const Word* b;                  // panels
  std::int64_t rows, columns, k;  // k in words
  bool accumulate;
  Real* y = nullptr;  // where the sum goes instead, rounded, if it is not null
  std::int64_t y_stride = 0;
};
void multiply_small(const SmallProduct& product);

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
