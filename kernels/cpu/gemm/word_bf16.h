// The micro-kernel's words for Bf16: pairs that one instruction multiplies and adds to a float. That instruction, and the one
// that rounds, treat subnormal numbers as zero.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/isa.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// Loaded from Bf16 memory with Bf16 alignment. The first number of a pair is the lower half.
typedef std::uint32_t Word __attribute__((aligned(2), may_alias));
typedef std::int32_t WordVec __attribute__((vector_size(64)));
constexpr std::int64_t kWordDepth = 2;  // Reals per word

static inline WordVec load(const Word* p) { return (WordVec)_mm512_loadu_si512(p); }
static inline void store(Word* p, WordVec v) { _mm512_storeu_si512(p, (__m512i)v); }
static inline WordVec broadcast(const Word* p) { return (WordVec)_mm512_set1_epi32(static_cast<int>(*p)); }
static inline Vec multiply_add(WordVec a, WordVec b, Vec c) { return _mm512_dpbf16_ps(c, (__m512bh)a, (__m512bh)b); }
static inline WordVec load_partial(const Word* p, std::int64_t count) {
  return (WordVec)_mm512_maskz_loadu_epi32(lanes_below(count), p);
}
static inline void store_partial(Word* p, WordVec v, std::int64_t count) {
  _mm512_mask_storeu_epi32(p, lanes_below(count), (__m512i)v);
}

static inline WordVec zero_word_vec() { return WordVec{}; }

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

// kLanes words of one row that has `k` Reals; missing ones are zero.
static inline WordVec load_along(const Bf16* p) { return load(reinterpret_cast<const Word*>(p)); }
static inline WordVec load_along_partial(const Bf16* p, std::int64_t k) {
  const auto mask = static_cast<__mmask32>(k <= 0 ? 0 : 0xffffffffu >> (32 - min_of(k, 32)));
  return (WordVec)_mm512_maskz_loadu_epi16(mask, p);
}
// One word for each of kLanes columns, from the first `k` of kWordDepth rows that are `stride` apart; missing ones are zero.
static inline WordVec pair(__m256i even, __m256i odd) { return (WordVec)(wide(even) | wide(odd) << 16); }
static inline WordVec load_across(const Bf16* p, std::int64_t stride) {
  return pair(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
              _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + stride)));
}
static inline WordVec load_across_partial(const Bf16* p, std::int64_t stride, std::int64_t columns, std::int64_t k) {
  const __mmask16 mask = columns <= 0 ? 0 : lanes_below(min_of(columns, kLanes));
  return pair(_mm256_maskz_loadu_epi16(mask, p), _mm256_maskz_loadu_epi16(k > 1 ? mask : 0, k > 1 ? p + stride : p));
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
