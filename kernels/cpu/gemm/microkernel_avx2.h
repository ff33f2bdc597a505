// The AVX2 part of the micro-kernel: its vectors, and the tiles that fit 16 registers. The loops are in microkernel.cpp.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/isa.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

using Vec = __m256;
constexpr int kLanes = 8;
constexpr int kMaxVectors = 3;
// MR of a tile that is 1, 2 or 3 vectors wide: accumulators, the vectors of B and one broadcast fit the registers.
constexpr int kMr[] = {0, 12, 6, 4};

static inline Vec zero_vector() { return _mm256_setzero_ps(); }
static inline Vec load(const float* p) { return _mm256_loadu_ps(p); }
static inline void store(float* p, Vec v) { _mm256_storeu_ps(p, v); }
static inline Vec broadcast(const float* p) { return _mm256_broadcast_ss(p); }
static inline Vec multiply_add(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
// a > b ? a : b, so a NaN in b propagates.
static inline Vec maximum(Vec a, Vec b) { return _mm256_max_ps(a, b); }
// The first `count` lanes, 1 to kLanes; the others read as zero, or are not written.
static inline __m256i lanes_below(std::int64_t count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
static inline Vec load_partial(const float* p, std::int64_t count) { return _mm256_maskload_ps(p, lanes_below(count)); }
static inline void store_partial(float* p, Vec v, std::int64_t count) { _mm256_maskstore_ps(p, lanes_below(count), v); }

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
