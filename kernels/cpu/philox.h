// Random words of dropout masks: Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011), for as
// many blocks at once as a vector has 64-bit lanes. kernels/shapes.h defines which word belongs to which element.
#pragma once

#include "kernels/cpu/lanes.h"
#include "kernels/shapes.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

constexpr std::uint32_t kDropoutStream = 4;  // RandomStream::dropout

#if defined(__AVX512F__)
constexpr int kPhiloxBlocks = 8;
constexpr int kPhiloxStates = 4;  // that 32 registers hold
#elif defined(__AVX2__)
constexpr int kPhiloxBlocks = 4;
constexpr int kPhiloxStates = 1;
#else
constexpr int kPhiloxBlocks = 2;
constexpr int kPhiloxStates = 1;
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

// The four words of one block per lane. Only the low half of a lane counts; the high half never affects a low half.
struct PhiloxState {
  PhiloxLanes c0, c1, c2, c3;
};

// What all blocks of a call have in common. Only the first word of the counter differs between blocks, so half of the products
// of the first two rounds are the same for all.
struct PhiloxKeys {
  static constexpr int kRounds = 10;
  PhiloxLanes multiplier0, multiplier1;
  PhiloxLanes first2, second0, second2, second3;  // of the words that rounds 0 and 1 leave
  PhiloxLanes key0[kRounds], key1[kRounds];       // from round 2 on

  PhiloxKeys(std::int32_t step, const Dropout& dropout) {
    constexpr std::uint32_t kWeyl0 = 0x9E3779B9u, kWeyl1 = 0xBB67AE85u;
    constexpr std::uint64_t kMultiplier0 = 0xD2511F53u, kMultiplier1 = 0xCD9E8D57u;
    const auto seed0 = static_cast<std::uint32_t>(dropout.seed), seed1 = static_cast<std::uint32_t>(dropout.seed >> 32);
    const std::uint64_t product1 = kMultiplier1 * dropout.ordinal;
    const std::uint32_t word0 = static_cast<std::uint32_t>(product1 >> 32) ^ static_cast<std::uint32_t>(step) ^ seed0;
    const std::uint64_t product0 = kMultiplier0 * word0;
    const PhiloxLanes zero{};
    multiplier0 = zero + kMultiplier0;
    multiplier1 = zero + kMultiplier1;
    first2 = zero + (kDropoutStream ^ seed1);
    second0 = zero + (static_cast<std::uint32_t>(product1) ^ (seed0 + kWeyl0));
    second2 = zero + (static_cast<std::uint32_t>(product0 >> 32) ^ (seed1 + kWeyl1));
    second3 = zero + (product0 & 0xffffffffu);
    for (std::uint32_t round = 2; round < kRounds; ++round) {
      key0[round] = zero + (seed0 + round * kWeyl0);
      key1[round] = zero + (seed1 + round * kWeyl1);
    }
  }
};

// The state after two rounds of the blocks with these numbers.
static inline PhiloxState philox_begin(PhiloxLanes blocks, const PhiloxKeys& keys) {
  const PhiloxLanes p0 = multiply_low_halves(blocks, keys.multiplier0);
  const PhiloxLanes p1 = multiply_low_halves((p0 >> 32) ^ keys.first2, keys.multiplier1);
  return {(p1 >> 32) ^ keys.second0, p1, p0 ^ keys.second2, keys.second3};
}

static inline void philox_round(PhiloxState& state, PhiloxLanes key0, PhiloxLanes key1, const PhiloxKeys& keys) {
  const PhiloxLanes p0 = multiply_low_halves(state.c0, keys.multiplier0), p1 = multiply_low_halves(state.c2, keys.multiplier1);
  state = {(p1 >> 32) ^ state.c1 ^ key0, p1, (p0 >> 32) ^ state.c3 ^ key1, p0};
}

struct PhiloxWords {  // in order of elements: the two halves of the words of kPhiloxBlocks blocks
  PhiloxLanes halves[2];
};
// The lanes of a and b alternately, from the first or from the middle one on.
static constexpr int first_half_lane(int lane) { return lane / 2 + lane % 2 * kPhiloxBlocks; }
static constexpr int second_half_lane(int lane) { return first_half_lane(lane) + kPhiloxBlocks / 2; }
static inline PhiloxWords philox_output(const PhiloxState& state) {
  const PhiloxLanes low = (state.c0 & 0xffffffffu) | state.c1 << 32, high = (state.c2 & 0xffffffffu) | state.c3 << 32;
  return {{pick_lanes<first_half_lane>(low, high), pick_lanes<second_half_lane>(low, high)}};
}

template <int kCount>
struct States {
  constexpr int operator()() const { return kCount; }
};

// Calls sink(i, drawn) for `kStates` times kPhiloxBlocks blocks, where block i is the first one of `drawn`. The rounds of
// several states alternate, because each round waits for the one before, and the instructions of one state fill a scheduler.
template <int kStates, typename Sink>
static inline __attribute__((always_inline)) void philox_generate(PhiloxLanes first, const PhiloxKeys& keys, Sink sink) {
  PhiloxState states[kStates];
#pragma GCC unroll 4
  for (int s = 0; s < kStates; ++s) states[s] = philox_begin(first + static_cast<std::uint64_t>(s * kPhiloxBlocks), keys);
#pragma GCC unroll 10
  for (int round = 2; round < PhiloxKeys::kRounds; ++round) {
#pragma GCC unroll 4
    for (int s = 0; s < kStates; ++s) {
      philox_round(states[s], keys.key0[round], keys.key1[round], keys);
#if defined(__AVX512F__)
      asm("" : "+v"(states[s].c0), "+v"(states[s].c2));  // keeps this order
#endif
    }
  }
#pragma GCC unroll 4
  for (int s = 0; s < kStates; ++s) sink(s * kPhiloxBlocks, philox_output(states[s]));
}

// Calls sink(i, drawn) for `blocks` blocks, rounded up to a multiple of kPhiloxBlocks.
template <typename Sink>
static inline void for_each_philox(std::int64_t first_block, std::int64_t blocks, const PhiloxKeys& keys, Sink sink) {
  PhiloxLanes lanes{};
  for (int i = 0; i < kPhiloxBlocks; ++i) lanes[i] = static_cast<std::uint64_t>(i);
  lanes += static_cast<std::uint64_t>(first_block);
  std::int64_t block = 0;
  const auto generate = [&](auto states) {
    philox_generate<states()>(lanes + static_cast<std::uint64_t>(block), keys,
                              [&](int i, const PhiloxWords& drawn) { sink(block + i, drawn); });
    block += states() * kPhiloxBlocks;
  };
  if constexpr (kPhiloxStates > 1)
    while (block + kPhiloxStates * kPhiloxBlocks <= blocks) generate(States<kPhiloxStates>{});
  while (block < blocks) generate(States<1>{});
}

// random [4 * count]: word i belongs to element 4 * first_block + i; count is `blocks` rounded up to a multiple of
// kPhiloxBlocks.
static inline void philox_words(std::uint32_t* random, std::int64_t first_block, std::int64_t blocks, const PhiloxKeys& keys) {
  for_each_philox(first_block, blocks, keys,
                  [=](std::int64_t i, const PhiloxWords& drawn) { __builtin_memcpy(random + 4 * i, &drawn, sizeof drawn); });
}

#if defined(__AVX512F__)
static inline Bits at_least(__m512i random, std::uint32_t threshold) {
  return _mm512_cmp_epu32_mask(random, _mm512_set1_epi32(static_cast<int>(threshold)), _MM_CMPINT_NLT);
}
// bits [count / 8]: bit i belongs to element 4 * first_block + i; count as above.
static inline void philox_bits(std::uint32_t* bits, std::int64_t first_block, std::int64_t blocks, std::uint32_t threshold,
                               const PhiloxKeys& keys) {
  for_each_philox(first_block, blocks, keys, [=](std::int64_t i, const PhiloxWords& drawn) {
    const Bits first = at_least((__m512i)drawn.halves[0], threshold), second = at_least((__m512i)drawn.halves[1], threshold);
    bits[i / kPhiloxBlocks] = _mm512_kunpackw(second, first);
  });
}
// The bits of the elements of two registers, or of one, from bit `at` on. Reads the words as they were written, because a load
// that spans several recent stores waits for them.
static inline __mmask32 kept_pair(const std::uint32_t* bits, std::int64_t at) {
  const std::uint64_t low = bits[at / 32], high = bits[at / 32 + 1];
  return static_cast<__mmask32>((high << 32 | low) >> (at % 32));
}
static inline Bits kept_bits(const std::uint32_t* bits, std::int64_t at) { return static_cast<Bits>(kept_pair(bits, at)); }
#endif

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
