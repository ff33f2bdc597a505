// Products of operands that are in cache: one packed operand, one thread, no cache blocking. For kernels that multiply parts of
// their own working set; gemm.cpp multiplies whole tensors.
#pragma once

#include "kernels/cpu/gemm/pack.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// Words in all panels of B [k, columns]; a multiple of 16. k counts Reals, except in SmallProduct.
static inline std::int64_t panels_words(std::int64_t k, std::int64_t columns) {
  return round_up(word_count(k) * packed_columns(columns), 16);
}

// Packs all panels of B, from b[k * stride + column] or from transposed b[column * stride + k].
void pack_panels(Word* panels, const Real* b, std::int64_t stride, std::int64_t k, std::int64_t columns);
void pack_panels_transposed(Word* panels, const Real* b, std::int64_t stride, std::int64_t k, std::int64_t columns);

// Rows of Reals that are operands of a product consist of whole words.
static inline Real* reals(Word* row) { return reinterpret_cast<Real*>(row); }

struct SmallProduct {  // sum [rows, columns] = (sum +) a [rows, k] times b [k, columns]
  float* sum;
  std::int64_t sum_stride;
  const Word* a;  // a[row * a_stride + k], or a[k * a_stride + row] with AccessA::columns
  std::int64_t a_stride;
  AccessA access;
  const Word* b;                  // panels
  std::int64_t rows, columns, k;  // k in words
  bool accumulate;
  Real* y = nullptr;  // rounded result in place of sum, or null
  std::int64_t y_stride = 0;
  std::int64_t panel_k = 0;  // words along k that panels have; the first k of them are multiplied. 0: k
};
void multiply_small(const SmallProduct& product);

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
