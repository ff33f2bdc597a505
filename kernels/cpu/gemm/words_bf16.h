// Words of the microkernel where the kernels compute with Bf16: pairs, which one instruction multiplies and adds to a float.
// That instruction takes subnormal numbers for zero, and so does the one that rounds. The loops are in microkernel.h.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/isa.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// Read from memory of Bf16, at their alignment. The first of a pair is in the lower half.
typedef std::uint32_t Word __attribute__((aligned(2), may_alias));
typedef std::int32_t Words __attribute__((vector_size(64)));
constexpr std::int64_t kWordDepth = 2;  // Reals of a word

static inline Words load(const Word* p) { return (Words)_mm512_loadu_si512(p); }
static inline void store(Word* p, Words v) { _mm512_storeu_si512(p, (__m512i)v); }
static inline Words broadcast(const Word* p) { return (Words)_mm512_set1_epi32(static_cast<int>(*p)); }
static inline Vec multiply_add(Words a, Words b, Vec c) { return _mm512_dpbf16_ps(c, (__m512bh)a, (__m512bh)b); }
static inline Words load_partial(const Word* p, std::int64_t count) {
  return (Words)_mm512_maskz_loadu_epi32(lanes_below(count), p);
}
static inline void store_partial(Word* p, Words v, std::int64_t count) {
  _mm512_mask_storeu_epi32(p, lanes_below(count), (__m512i)v);
}

static inline Words zero_words() { return Words{}; }

// 16 numbers of 16 bits, each in the lower half of a word.
typedef std::uint16_t Halves __attribute__((vector_size(32)));
typedef std::uint32_t WideHalves __attribute__((vector_size(64)));
static inline WideHalves wide(__m256i halves) { return __builtin_convertvector((Halves)halves, WideHalves); }

static inline Vec load_reals(const Bf16* p) {
  return (Vec)(wide(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))) << 16);
}
static inline Vec load_reals_partial(const Bf16* p, std::int64_t count) {
  return (Vec)(wide(_mm256_maskz_loadu_epi16(lanes_below(count), p)) << 16);
}
static inline void store_reals(Bf16* p, Vec v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), (__m256i)_mm512_cvtneps_pbh(v));
}
static inline void store_reals_partial(Bf16* p, Vec v, std::int64_t count) {
  _mm256_mask_storeu_epi16(p, lanes_below(count), (__m256i)_mm512_cvtneps_pbh(v));
}

// kLanes words of one row, of which `k` Reals are there; what is missing is zero.
static inline Words load_along(const Bf16* p) { return load(reinterpret_cast<const Word*>(p)); }
static inline Words load_along_partial(const Bf16* p, std::int64_t k) {
  const auto mask = static_cast<__mmask32>(k <= 0 ? 0 : 0xffffffffu >> (32 - min_of(k, 32)));
  return (Words)_mm512_maskz_loadu_epi16(mask, p);
}
// A word of each of kLanes columns, from kWordDepth rows `stride` apart, of which `k` are there; the same of columns.
static inline Words pair(__m256i even, __m256i odd) { return (Words)(wide(even) | wide(odd) << 16); }
static inline Words load_across(const Bf16* p, std::int64_t stride) {
  return pair(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
              _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + stride)));
}
static inline Words load_across_partial(const Bf16* p, std::int64_t stride, std::int64_t columns, std::int64_t k) {
  const __mmask16 mask = columns <= 0 ? 0 : lanes_below(min_of(columns, kLanes));
  return pair(_mm256_maskz_loadu_epi16(mask, p), _mm256_maskz_loadu_epi16(k > 1 ? mask : 0, k > 1 ? p + stride : p));
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
