// The namespace of the instruction set that this translation unit is compiled for.
//
// A kernel file must not emit symbols outside this namespace: the linker would merge a standard library template or inline
// function that was not inlined with its copies from other files, and a CPU without the instructions might call the wrong copy.
// So kernels use plain loops, raw pointers and the helpers below.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/shapes.h"

#ifndef EPOCHBENCH_ISA
#error "compile once per instruction set with -DEPOCHBENCH_ISA=..."
#endif
#ifndef EPOCHBENCH_NEON  // __ARM_NEON would not do: every aarch64 compiler defines it
#define EPOCHBENCH_NEON 0
#endif
#ifndef EPOCHBENCH_WIDENED  // whether Bf16 is widened before products, since the instruction set multiplies only floats
#define EPOCHBENCH_WIDENED 0
#endif
#define EPOCHBENCH_BFMMLA (EPOCHBENCH_NEON && EPOCHBENCH_BF16 && !EPOCHBENCH_WIDENED)
// Whether Bf16 loops outside of products are written for registers: those for AVX-512 are. Otherwise the compiler vectorizes
// loops over single numbers, as it does for floats.
#if EPOCHBENCH_BF16 && defined(__AVX512F__)
#define EPOCHBENCH_BF16_LANES 1
#else
#define EPOCHBENCH_BF16_LANES 0
#endif

namespace epochbench::cpu::EPOCHBENCH_ISA {

// The element type of activations, weights and gradients; see kernels.h. Arithmetic is in float: y[i] = narrow(f(widen(x[i]))).
static inline float widen(float x) { return x; }
static inline float widen(Bf16 x) { return __builtin_bit_cast(float, static_cast<std::uint32_t>(x.bits) << 16); }
#if EPOCHBENCH_BF16
using Real = Bf16;
// Rounds to nearest even; a carry moves into the exponent, up to infinity. A NaN stays NaN.
static inline Bf16 narrow(float x) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, x);
  const std::uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16, quiet = bits >> 16 | 0x40u;
  return {static_cast<std::uint16_t>(x != x ? quiet : rounded)};
}
#else
using Real = float;
static inline float narrow(float x) { return x; }
#endif

// Lane i of the result is lane kLane(i) of the pair (a, b), in which b's lanes follow those of a. GCC 11 lacks clang's builtin,
// clang lacks GCC's.
template <int (*kLane)(int), typename Vector, int... kIndex>
static inline __attribute__((always_inline)) Vector pick_lanes(Vector a, Vector b, std::integer_sequence<int, kIndex...>) {
#if defined(__clang__)
  return __builtin_shufflevector(a, b, kLane(kIndex)...);
#else
  using Lanes = decltype(a < b);
  return __builtin_shuffle(a, b, Lanes{kLane(kIndex)...});
#endif
}
template <int (*kLane)(int), typename Vector>
static inline __attribute__((always_inline)) Vector pick_lanes(Vector a, Vector b) {
  return pick_lanes<kLane>(a, b, std::make_integer_sequence<int, sizeof(Vector) / sizeof(a[0])>{});
}

struct Range {
  std::int64_t begin, end;
};

// Part `index` of `parts` of [0, n), split at multiples of `grain`: the same for every kernel, so that a thread accesses the
// memory that it touched first.
static inline Range part_of(std::int64_t n, int index, int parts, std::int64_t grain) {
  const std::int64_t grains = (n + grain - 1) / grain;
  const std::int64_t begin = grains * index / parts * grain, end = grains * (index + 1) / parts * grain;
  return {begin < n ? begin : n, end < n ? end : n};
}

static inline std::int64_t min_of(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
static inline std::int64_t max_of(std::int64_t a, std::int64_t b) { return a > b ? a : b; }

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
