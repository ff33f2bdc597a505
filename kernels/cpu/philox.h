// Random words of dropout masks: Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011), for as
// many blocks at once as a vector has 64-bit lanes. kernels/shapes.h defines which word belongs to which element.
#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "kernels/cpu/isa.h"
#include "kernels/shapes.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

constexpr std::uint32_t kDropoutStream = 4;  // RandomStream::dropout

#if defined(__AVX512F__)
constexpr int kPhiloxBlocks = 8;
#elif defined(__AVX2__)
constexpr int kPhiloxBlocks = 4;
#else
constexpr int kPhiloxBlocks = 2;
#endif
typedef std::uint64_t PhiloxLanes __attribute__((vector_size(8 * kPhiloxBlocks)));

// The 64-bit products of the low halves of all lanes.
static inline PhiloxLanes multiply_low_halves(PhiloxLanes a, PhiloxLanes b) {
#if defined(__AVX512F__)
  // Masked with all lanes: the same instruction, without the undefined vector that g++ 12 warns about in _mm512_mul_epu32.
  return (PhiloxLanes)_mm512_maskz_mul_epu32(0xff, (__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
  return (PhiloxLanes)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
  return (PhiloxLanes)_mm_mul_epu32((__m128i)a, (__m128i)b);
#else
  return (a & 0xffffffffu) * (b & 0xffffffffu);
#endif
}

// random [4 * count]: word i belongs to element 4 * first_block + i; count is `blocks` rounded up to a multiple of
// kPhiloxBlocks.
static inline void philox_words(std::uint32_t* random, std::int64_t first_block, std::int64_t blocks, std::int32_t step,
                                const Dropout& dropout) {
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9u, kWeyl1 = 0xBB67AE85u;
  const PhiloxLanes zero{}, multiplier0 = zero + 0xD2511F53u, multiplier1 = zero + 0xCD9E8D57u;
  const auto key0 = static_cast<std::uint32_t>(dropout.seed), key1 = static_cast<std::uint32_t>(dropout.seed >> 32);
  PhiloxLanes lanes{}, first_half{}, second_half{};  // the last two interleave the lanes of a pair (a, b)
  for (int i = 0; i < kPhiloxBlocks; ++i) {
    lanes[i] = static_cast<std::uint64_t>(i);
    first_half[i] = static_cast<std::uint64_t>(i / 2 + i % 2 * kPhiloxBlocks);
    second_half[i] = first_half[i] + kPhiloxBlocks / 2;
  }
  for (std::int64_t block = 0; block < blocks; block += kPhiloxBlocks, random += 4 * kPhiloxBlocks) {
    // Only the low half of a lane counts; the high half never affects a low half.
    PhiloxLanes c0 = lanes + static_cast<std::uint64_t>(first_block + block), c1 = zero + static_cast<std::uint32_t>(step),
                c2 = zero + dropout.ordinal, c3 = zero + kDropoutStream;
#pragma GCC unroll 10
    for (std::uint32_t round = 0; round < 10; ++round) {
      const PhiloxLanes p0 = multiply_low_halves(c0, multiplier0), p1 = multiply_low_halves(c2, multiplier1);
      c0 = (p1 >> 32) ^ c1 ^ (zero + (key0 + round * kWeyl0));
      c1 = p1;
      c2 = (p0 >> 32) ^ c3 ^ (zero + (key1 + round * kWeyl1));
      c3 = p0;
    }
    const PhiloxLanes low = (c0 & 0xffffffffu) | c1 << 32, high = (c2 & 0xffffffffu) | c3 << 32;
    const PhiloxLanes out[2] = {__builtin_shuffle(low, high, first_half), __builtin_shuffle(low, high, second_half)};
    __builtin_memcpy(random, out, sizeof out);
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
