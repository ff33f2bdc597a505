// The micro-kernel's vectors for every other CPU: four floats, which the compiler maps to SSE2, NEON or scalar code. The loops
// are in microkernel.cpp.
#pragma once

#include "kernels/cpu/isa.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

typedef float Vec __attribute__((vector_size(16)));
constexpr int kLanes = 4;
constexpr int kMaxVectors = 3;
// MR of a tile that is 1, 2 or 3 vectors wide: accumulators, the vectors of B, one broadcast and one product before its
// addition fit the 16 registers of SSE2.
constexpr int kMr[] = {0, 10, 5, 3};

static inline Vec zero_vector() { return Vec{0, 0, 0, 0}; }
static inline Vec load(const float* p) {
  Vec v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
static inline void store(float* p, Vec v) { __builtin_memcpy(p, &v, sizeof v); }
static inline Vec broadcast(const float* p) { return Vec{*p, *p, *p, *p}; }
static inline Vec multiply_add(Vec a, Vec b, Vec c) { return a * b + c; }
// a > b ? a : b, so a NaN in b propagates.
static inline Vec maximum(Vec a, Vec b) { return a > b ? a : b; }
// The first `count` lanes, 1 to kLanes; the others read as zero, or are not written.
static inline Vec load_partial(const float* p, std::int64_t count) {
  Vec v = zero_vector();
  for (std::int64_t i = 0; i < count; ++i) v[i] = p[i];
  return v;
}
static inline void store_partial(float* p, Vec v, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) p[i] = v[i];
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
