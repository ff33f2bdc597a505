// Registers of Bf16 for instruction sets that do not round to it: integer arithmetic widens and rounds as widen() and narrow()
// do.
#pragma once

#include "kernels/cpu/isa.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// Numbers at once: as many floats as a register holds.
#if defined(__AVX512F__)
constexpr int kHalves = 16;
#elif defined(__AVX2__)
constexpr int kHalves = 8;
#else
constexpr int kHalves = 4;
#endif
typedef std::uint16_t Halves __attribute__((vector_size(2 * kHalves)));
typedef std::uint32_t WideHalves __attribute__((vector_size(4 * kHalves)));
typedef float WideFloats __attribute__((vector_size(4 * kHalves)));

static inline Halves load_halves(const Bf16* p) {
  Halves halves;
  __builtin_memcpy(&halves, p, sizeof halves);
  return halves;
}
// The first `count`, 1 to kHalves; the others are zero, or are not written.
static inline Halves load_halves(const Bf16* p, std::int64_t count) {
  Halves halves{};
  __builtin_memcpy(&halves, p, static_cast<std::size_t>(count) * sizeof(Bf16));
  return halves;
}
static inline void store_halves(Bf16* p, Halves halves) { __builtin_memcpy(p, &halves, sizeof halves); }
static inline void store_halves(Bf16* p, Halves halves, std::int64_t count) {
  __builtin_memcpy(p, &halves, static_cast<std::size_t>(count) * sizeof(Bf16));
}

static inline WideFloats widened(Halves halves) { return (WideFloats)(__builtin_convertvector(halves, WideHalves) << 16); }
static inline Halves rounded_halves(WideFloats x) {
  const WideHalves bits = (WideHalves)x;
  const WideHalves rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16, quiet = bits >> 16 | 0x40u;
  return __builtin_convertvector(x != x ? quiet : rounded, Halves);
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
