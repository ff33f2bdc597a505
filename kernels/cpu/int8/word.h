// The micro-kernel's words for bytes: four activations, or four weights, that one instruction multiplies and adds to an int32.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/isa.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// Loaded from memory of any alignment.
typedef std::uint32_t Word __attribute__((aligned(1), may_alias));
typedef std::int32_t WordVec __attribute__((vector_size(64)));
constexpr std::int64_t kWordDepth = 4;  // numbers per word

static inline WordVec load(const Word* p) { return (WordVec)_mm512_loadu_si512(p); }
static inline WordVec broadcast(const Word* p) { return (WordVec)_mm512_set1_epi32(static_cast<int>(*p)); }
// a: unsigned, b: signed.
static inline WordVec multiply_add(WordVec a, WordVec b, WordVec sums) {
  return (WordVec)_mm512_dpbusd_epi32((__m512i)sums, (__m512i)a, (__m512i)b);
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
