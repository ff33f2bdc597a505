// The micro-kernel's words where instructions multiply only floats: floats themselves, and Bf16 that packing widens to floats.
#pragma once

#include "kernels/cpu/isa.h"
#if EPOCHBENCH_WIDENED
#include "kernels/cpu/halves.h"
#endif

namespace epochbench::cpu::EPOCHBENCH_ISA {

using Word = float;
using WordVec = Vec;
constexpr std::int64_t kWordDepth = 1;  // Reals per word

static inline WordVec zero_word_vec() { return zero_vector(); }

#if EPOCHBENCH_WIDENED
static_assert(kLanes == kHalves);
static inline Vec load_reals(const Bf16* p) { return (Vec)widened(load_halves(p)); }
static inline Vec load_reals_partial(const Bf16* p, std::int64_t count) { return (Vec)widened(load_halves(p, count)); }
static inline void store_reals(Bf16* p, Vec v) { store_halves(p, rounded_halves((WideFloats)v)); }
static inline void store_reals_partial(Bf16* p, Vec v, std::int64_t count) {
  store_halves(p, rounded_halves((WideFloats)v), count);
}
#else
static inline Vec load_reals(const float* p) { return load(p); }
static inline Vec load_reals_partial(const float* p, std::int64_t count) { return load_partial(p, count); }
static inline void store_reals(float* p, Vec v) { store(p, v); }
static inline void store_reals_partial(float* p, Vec v, std::int64_t count) { store_partial(p, v, count); }
#endif

// kLanes words of one row that has `k` Reals; missing ones are zero.
static inline WordVec load_along(const Real* p) { return load_reals(p); }
static inline WordVec load_along_partial(const Real* p, std::int64_t k) {
  if (k >= kLanes) return load_reals(p);
  return k > 0 ? load_reals_partial(p, k) : zero_vector();
}
// One word for each of kLanes columns, from the first `k` of kWordDepth rows that are `stride` apart; missing ones are zero.
static inline WordVec load_across(const Real* p, std::int64_t) { return load_reals(p); }
static inline WordVec load_across_partial(const Real* p, std::int64_t, std::int64_t columns, std::int64_t) {
  return load_along_partial(p, columns);
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
