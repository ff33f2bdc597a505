// The micro-kernel's words for bytes: activations, or weights, that are multiplied and added to an int32. Four of each where
// one instruction does that (VNNI); otherwise two, widened to 16 bits, whose products are exact. VPMADDUBSW, which multiplies
// bytes without VNNI, saturates.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/isa.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// Loaded from memory of any alignment.
typedef std::uint32_t Word __attribute__((aligned(1), may_alias));

#if defined(__AVX512F__)

typedef std::int32_t WordVec __attribute__((vector_size(64)));
static inline WordVec load(const Word* p) { return (WordVec)_mm512_loadu_si512(p); }
static inline WordVec broadcast(const Word* p) { return (WordVec)_mm512_set1_epi32(static_cast<int>(*p)); }
// a: unsigned, b: signed.
static inline WordVec multiply_add(WordVec a, WordVec b, WordVec sums) {
  return (WordVec)_mm512_dpbusd_epi32((__m512i)sums, (__m512i)a, (__m512i)b);
}

#else

typedef std::int32_t WordVec __attribute__((vector_size(32)));
static inline WordVec load(const Word* p) { return (WordVec)_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
static inline WordVec broadcast(const Word* p) { return (WordVec)_mm256_set1_epi32(static_cast<int>(*p)); }
static inline WordVec multiply_add(WordVec a, WordVec b, WordVec sums) {
#if defined(__AVXVNNI__)
  return (WordVec)_mm256_dpbusd_avx_epi32((__m256i)sums, (__m256i)a, (__m256i)b);
#else
  sums += (WordVec)_mm256_madd_epi16((__m256i)a, (__m256i)b);
  asm("" : "+x"(sums));  // g++ would add the products of several words first, and store them meanwhile
  return sums;
#endif
}

#endif

// What a copied activation and a weight of a word are.
#if defined(__AVX512F__) || defined(__AVXVNNI__)
using Activation = std::uint8_t;
using Weight = std::int8_t;
#else
using Activation = std::int16_t;
using Weight = std::int16_t;
#endif
constexpr std::int64_t kWordDepth = sizeof(Word) / sizeof(Weight);  // numbers per word

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
