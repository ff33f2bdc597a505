// Words of the microkernel where the kernels compute with floats: the floats themselves.
#pragma once

#include "kernels/cpu/isa.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

using Word = float;
using Words = Vec;
constexpr std::int64_t kWordDepth = 1;  // Reals of a word

static inline Words zero_words() { return zero_vector(); }

static inline Vec load_reals(const float* p) { return load(p); }
static inline Vec load_reals_partial(const float* p, std::int64_t count) { return load_partial(p, count); }
static inline void store_reals(float* p, Vec v) { store(p, v); }
static inline void store_reals_partial(float* p, Vec v, std::int64_t count) { store_partial(p, v, count); }

// kLanes words of one row, of which `k` Reals are there; what is missing is zero.
static inline Words load_along(const float* p) { return load(p); }
static inline Words load_along_partial(const float* p, std::int64_t k) {
  if (k >= kLanes) return load(p);
  return k > 0 ? load_partial(p, k) : zero_vector();
}
// A word of each of kLanes columns, from kWordDepth rows `stride` apart, of which `k` are there; the same of columns.
static inline Words load_across(const float* p, std::int64_t) { return load(p); }
static inline Words load_across_partial(const float* p, std::int64_t, std::int64_t columns, std::int64_t) {
  return load_along_partial(p, columns);
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
