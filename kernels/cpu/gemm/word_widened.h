// The micro-kernel's words for Bf16 where instructions multiply only floats: packing widens Bf16 to the floats that they are.
#pragma once

#include "kernels/cpu/halves.h"
#include "kernels/cpu/isa.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

using Word = float;
using WordVec = Vec;
constexpr std::int64_t kWordDepth = 1;  // Reals per word
static_assert(kLanes == kHalves);

static inline WordVec zero_word_vec() { return zero_vector(); }

static inline Vec load_reals(const Bf16* p) { return (Vec)widened(load_halves(p)); }
static inline Vec load_reals_partial(const Bf16* p, std::int64_t count) { return (Vec)widened(load_halves(p, count)); }
static inline void store_reals(Bf16* p, Vec v) { store_halves(p, rounded_halves((WideFloats)v)); }
static inline void store_reals_partial(Bf16* p, Vec v, std::int64_t count) {
  store_halves(p, rounded_halves((WideFloats)v), count);
}

// kLanes words of one row that has `k` Reals; missing ones are zero.
static inline WordVec load_along(const Bf16* p) { return load_reals(p); }
static inline WordVec load_along_partial(const Bf16* p, std::int64_t k) {
  if (k >= kLanes) return load_reals(p);
  return k > 0 ? load_reals_partial(p, k) : zero_vector();
}
// One word for each of kLanes columns, from the first `k` of kWordDepth rows that are `stride` apart; missing ones are zero.
static inline WordVec load_across(const Bf16* p, std::int64_t) { return load_reals(p); }
static inline WordVec load_across_partial(const Bf16* p, std::int64_t, std::int64_t columns, std::int64_t) {
  return load_along_partial(p, columns);
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
