// The AVX-512 part of the micro-kernel: its vectors, and the tiles that fit 32 registers. The loops are in microkernel.cpp.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/isa.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

using Vec = __m512;
constexpr int kLanes = 16;
#if !EPOCHBENCH_AMX
constexpr int kMaxVectors = 3;
// MR of a tile that is 1, 2 or 3 vectors wide: accumulators, the vectors of B and one broadcast fit the registers. With one
// vector, the broadcast is the memory operand of the multiply-add, and 16 rows are enough to hide its latency.
constexpr int kMr[] = {0, 16, 14, 8};
#endif

static inline Vec zero_vector() { return _mm512_setzero_ps(); }
static inline Vec load(const float* p) { return _mm512_loadu_ps(p); }
static inline void store(float* p, Vec v) { _mm512_storeu_ps(p, v); }
static inline Vec broadcast(const float* p) { return _mm512_set1_ps(*p); }
static inline Vec multiply_add(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
// a > b ? a : b, so a NaN in b propagates. Masked with all lanes: the same instruction, without the undefined vector that g++
// 12 warns about in _mm512_max_ps.
static inline Vec maximum(Vec a, Vec b) { return _mm512_maskz_max_ps(0xffff, a, b); }
// The first `count` lanes, 1 to kLanes; the others read as zero, or are not written.
static inline __mmask16 lanes_below(std::int64_t count) { return static_cast<__mmask16>((1u << count) - 1u); }
static inline Vec load_partial(const float* p, std::int64_t count) { return _mm512_maskz_loadu_ps(lanes_below(count), p); }
static inline void store_partial(float* p, Vec v, std::int64_t count) { _mm512_mask_storeu_ps(p, lanes_below(count), v); }

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
