// Whole vector registers of Reals, for memory-bound loops that the compiler vectorizes poorly: those with 16-bit elements or
// with bit masks. The loops over [rows, channels] that use them are in rows.h.
//
// Each helper has two overloads: for a Whole register, and for One number, as at the end of a row whose length is not a
// multiple of a register. An instruction set without vectors has only One. With AVX-512, load and store also have one for the
// first numbers of a register, so that arithmetic is written only once.
#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "kernels/cpu/isa.h"
#if EPOCHBENCH_WIDENED
#include "kernels/cpu/halves.h"
#endif

namespace epochbench::cpu::EPOCHBENCH_ISA {

struct One {};
struct Whole {};

template <typename Number>
static inline float load(One, const Number* p) {
  return widen(*p);
}
static inline void store(One, Real* p, float x) { *p = narrow(x); }
// For sums, which are floats for every Real.
static inline void store_float(One, float* p, float x) { *p = x; }
// Stores through memory directly, bypassing the caches, if the CPU can.
static inline void store_past_caches(One, Real* p, float x) { *p = narrow(x); }
static inline float rounded(One, float x) { return widen(narrow(x)); }
// x < 0 ? 0 : x, so that a NaN stays NaN and is visible.
static inline float relu_of(One, float x) { return x < 0 ? 0 : x; }
// x > 6 ? 6 : x, likewise.
static inline float at_most_six(One, float x) { return x > kSix ? kSix : x; }
static inline float where_positive(One, float y, float x) { return y > 0 ? x : 0; }
static inline void add_to(One, double* sum, float x) { *sum += x; }
static inline void add_to(One, float* sum, float x) { *sum += x; }

#if defined(__AVX512F__)

constexpr std::int64_t kWhole = 16;  // numbers per register
using Lanes = __m512;
using Bits = std::uint16_t;  // of a Whole: bit i describes number i

// Masked with all lanes: the same instructions, without the undefined vectors that g++ 12 warns about in the unmasked ones.
static inline Lanes load(Whole, const float* p) { return _mm512_loadu_ps(p); }
static inline Lanes load(Whole, const Bf16* p) {
  const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  const __m512i wide = _mm512_maskz_cvtepu16_epi32(0xffff, halves);
  return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(0xffff, wide, 16));
}
struct First {  // numbers of a register
  __mmask16 mask;
};
static inline First first_of(std::int64_t count) { return {static_cast<__mmask16>((1u << count) - 1)}; }
static inline Lanes load(First first, const float* p) { return _mm512_maskz_loadu_ps(first.mask, p); }
static inline Lanes load(First first, const Bf16* p) {
  const __m512i wide = _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_maskz_loadu_epi16(first.mask, p));
  return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(0xffff, wide, 16));
}
static inline void store(Whole, float* p, Lanes x) { _mm512_storeu_ps(p, x); }
static inline void store(First first, float* p, Lanes x) { _mm512_mask_storeu_ps(p, first.mask, x); }
static inline void store_float(Whole, float* p, Lanes x) { _mm512_storeu_ps(p, x); }
static inline void store_float(First first, float* p, Lanes x) { store(first, p, x); }
static inline void store_past_caches(Whole, float* p, Lanes x) { _mm512_stream_ps(p, x); }
// x, and 0 for numbers beyond the first.
static inline Lanes only(Whole, Lanes x) { return x; }
static inline Lanes only(First first, Lanes x) { return _mm512_maskz_mov_ps(first.mask, x); }
// The larger of x and y, or y where x is a NaN or beyond the first.
static inline Lanes larger(Whole, Lanes x, Lanes y) { return _mm512_maskz_max_ps(0xffff, x, y); }
static inline Lanes larger(First first, Lanes x, Lanes y) { return _mm512_mask_max_ps(y, first.mask, x, y); }
// Combines all numbers of a register.
template <typename Combine>
static inline float combined(Lanes x, Combine combine) {
  x = combine(x, _mm512_maskz_shuffle_f32x4(0xffff, x, x, 0x4e));
  x = combine(x, _mm512_maskz_shuffle_f32x4(0xffff, x, x, 0xb1));
  x = combine(x, _mm512_maskz_permute_ps(0xffff, x, 0x4e));
  return combine(x, _mm512_maskz_permute_ps(0xffff, x, 0xb1))[0];
}
static inline float largest_in(Lanes x) {
  return combined(x, [](Lanes a, Lanes b) { return _mm512_maskz_max_ps(0xffff, a, b); });
}
static inline float sum_in(Lanes x) {
  return combined(x, [](Lanes a, Lanes b) { return a + b; });
}
#if EPOCHBENCH_BF16
#if EPOCHBENCH_WIDENED
static inline __m256i halves_of(Lanes x) { return (__m256i)rounded_halves((WideFloats)x); }
#else
static inline __m256i halves_of(Lanes x) { return reinterpret_cast<__m256i>(_mm512_maskz_cvtneps_pbh(0xffff, x)); }
#endif
static inline void store(Whole, Bf16* p, Lanes x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), halves_of(x)); }
static inline void store(First first, Bf16* p, Lanes x) { _mm256_mask_storeu_epi16(p, first.mask, halves_of(x)); }
static inline void store_past_caches(Whole, Bf16* p, Lanes x) {
  _mm256_stream_si256(reinterpret_cast<__m256i*>(p), halves_of(x));
}
static inline Lanes rounded(Whole, Lanes x) {
  const __m512i wide = _mm512_maskz_cvtepu16_epi32(0xffff, halves_of(x));
  return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(0xffff, wide, 16));
}

// 32 Bf16 in an order that is cheap to load: `first` has the first 4 of each 8. Storing restores the order.
struct LanePair {
  Lanes first, second;
};
static inline LanePair load_pair(const Bf16* p) {
  const __m512i x = _mm512_loadu_si512(p), zero = _mm512_setzero_si512();
  return {_mm512_castsi512_ps(_mm512_unpacklo_epi16(zero, x)), _mm512_castsi512_ps(_mm512_unpackhi_epi16(zero, x))};
}
static inline __m512i halves_of(LanePair x) {
#if EPOCHBENCH_WIDENED
  return _mm512_maskz_inserti64x4(0xff, _mm512_castsi256_si512(halves_of(x.first)), halves_of(x.second), 1);
#else
  return reinterpret_cast<__m512i>(_mm512_maskz_cvtne2ps_pbh(0xffffffff, x.second, x.first));
#endif
}
static inline void store_pair(Bf16* p, LanePair x) {
  const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
  _mm512_storeu_si512(p, _mm512_maskz_permutexvar_epi64(0xff, order, halves_of(x)));
}
// The same, with 0 for numbers whose bit is not set.
static inline void store_pair_where(__mmask32 bits, Bf16* p, LanePair x) {
  alignas(64) static constexpr std::uint16_t kOrder[] = {0, 1, 2,  3,  16, 17, 18, 19, 4,  5,  6,  7,  20, 21, 22, 23,
                                                         8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31};
  _mm512_storeu_si512(p, _mm512_maskz_permutexvar_epi16(bits, _mm512_load_si512(kOrder), halves_of(x)));
}
#else
static inline Lanes rounded(Whole, Lanes x) { return x; }
#endif
static inline Lanes relu_of(Whole, Lanes x) { return _mm512_maskz_max_ps(0xffff, _mm512_setzero_ps(), x); }
static inline Lanes at_most_six(Whole, Lanes x) { return _mm512_maskz_min_ps(0xffff, _mm512_set1_ps(kSix), x); }
static inline Bits positive(Lanes y) { return _mm512_cmp_ps_mask(y, _mm512_setzero_ps(), _CMP_GT_OQ); }
static inline Bits between_0_and_6(Lanes y) {
  return _mm512_mask_cmp_ps_mask(positive(y), y, _mm512_set1_ps(kSix), _CMP_LT_OQ);
}
static inline Lanes where(Bits bits, Lanes x) { return _mm512_maskz_mov_ps(bits, x); }
static inline Lanes where_positive(Whole, Lanes y, Lanes x) { return where(positive(y), x); }
static inline void add_to(Whole, double* sum, Lanes x) {
  const __m512d low = _mm512_maskz_cvtps_pd(0xff, _mm512_maskz_extractf32x8_ps(0xff, x, 0));
  const __m512d high = _mm512_maskz_cvtps_pd(0xff, _mm512_maskz_extractf32x8_ps(0xff, x, 1));
  _mm512_storeu_pd(sum, _mm512_loadu_pd(sum) + low);
  _mm512_storeu_pd(sum + 8, _mm512_loadu_pd(sum + 8) + high);
}
static inline void add_to(Whole, float* sum, Lanes x) { _mm512_storeu_ps(sum, _mm512_loadu_ps(sum) + x); }

#elif defined(__AVX2__)

constexpr std::int64_t kWhole = 8;
using Lanes = __m256;
using Bits = std::uint8_t;

static inline Lanes load(Whole, const float* p) { return _mm256_loadu_ps(p); }
static inline void store(Whole, float* p, Lanes x) { _mm256_storeu_ps(p, x); }
static inline void store_float(Whole, float* p, Lanes x) { _mm256_storeu_ps(p, x); }
static inline void store_past_caches(Whole, float* p, Lanes x) { _mm256_stream_ps(p, x); }
#if EPOCHBENCH_BF16
static inline Lanes load(Whole, const Bf16* p) { return (Lanes)widened(load_halves(p)); }
static inline void store(Whole, Bf16* p, Lanes x) { store_halves(p, rounded_halves((WideFloats)x)); }
static inline void store_past_caches(Whole, Bf16* p, Lanes x) {
  _mm_stream_si128(reinterpret_cast<__m128i*>(p), (__m128i)rounded_halves((WideFloats)x));
}
static inline Lanes rounded(Whole, Lanes x) { return (Lanes)widened(rounded_halves((WideFloats)x)); }
#else
static inline Lanes rounded(Whole, Lanes x) { return x; }
#endif
static inline Lanes relu_of(Whole, Lanes x) { return _mm256_max_ps(_mm256_setzero_ps(), x); }
static inline Lanes at_most_six(Whole, Lanes x) { return _mm256_min_ps(_mm256_set1_ps(kSix), x); }
static inline Lanes where_positive(Whole, Lanes y, Lanes x) {
  return _mm256_and_ps(_mm256_cmp_ps(y, _mm256_setzero_ps(), _CMP_GT_OQ), x);
}
static inline Bits positive(Lanes y) {
  return static_cast<Bits>(_mm256_movemask_ps(_mm256_cmp_ps(y, _mm256_setzero_ps(), _CMP_GT_OQ)));
}
static inline Bits between_0_and_6(Lanes y) {
  const __m256 above = _mm256_cmp_ps(y, _mm256_setzero_ps(), _CMP_GT_OQ);
  return static_cast<Bits>(_mm256_movemask_ps(_mm256_and_ps(above, _mm256_cmp_ps(y, _mm256_set1_ps(kSix), _CMP_LT_OQ))));
}
static inline Lanes where(Bits bits, Lanes x) {
  const __m256i place = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  const __m256i set = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(bits), place), place);
  return _mm256_and_ps(_mm256_castsi256_ps(set), x);
}
static inline void add_to(Whole, double* sum, Lanes x) {
  _mm256_storeu_pd(sum, _mm256_loadu_pd(sum) + _mm256_cvtps_pd(_mm256_castps256_ps128(x)));
  _mm256_storeu_pd(sum + 4, _mm256_loadu_pd(sum + 4) + _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1)));
}
static inline void add_to(Whole, float* sum, Lanes x) { _mm256_storeu_ps(sum, _mm256_loadu_ps(sum) + x); }

#else

constexpr std::int64_t kWhole = 1;

#endif

#if defined(__AVX2__)
// Bits of consecutive numbers: bit i % 32 of word i / 32, which in memory is bit i % 8 of byte i / 8. `at` is a multiple of
// kWhole.
static inline Bits load_bits(Whole, const unsigned char* mask, std::int64_t at) {
  Bits bits;
  __builtin_memcpy(&bits, mask + at / 8, sizeof bits);
  return bits;
}
static inline void store_bits(Whole, unsigned char* mask, std::int64_t at, Bits bits) {
  __builtin_memcpy(mask + at / 8, &bits, sizeof bits);
}
#endif

// Calls body(Whole, i) for each register of a row, starting at i, and body(One, i) for each remaining number i.
template <typename Body>
static inline void across(std::int64_t width, Body body) {
  if constexpr (kWhole == 1) {
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) body(One{}, i);
  } else {
    const std::int64_t whole = width / kWhole * kWhole;
    for (std::int64_t i = 0; i < whole; i += kWhole) body(Whole{}, i);
    for (std::int64_t i = whole; i < width; ++i) body(One{}, i);
  }
}

#if defined(__AVX512F__)
// Calls body(Whole or First, i) for each register of n numbers, starting at i.
template <typename Body>
static inline void across_registers(std::int64_t n, Body body) {
  const std::int64_t whole = n / kWhole * kWhole;
  for (std::int64_t i = 0; i < whole; i += kWhole) body(Whole{}, i);
  if (whole < n) body(first_of(n - whole), whole);
}
#endif
// Calls body(part, c) for each register of a pixel's channels, the last of them possibly partial, or for each channel.
template <typename Body>
static inline void across_channels(std::int64_t channels, Body body) {
#if defined(__AVX512F__)
  across_registers(channels, body);
#else
  across(channels, body);
#endif
}
#if EPOCHBENCH_BF16_LANES
// Calls body(0 or 1, Whole or First, register) for all numbers of x [n], in any order, with 0 and 1 alternating.
template <typename Body>
static inline void for_each_register(const Bf16* x, std::int64_t n, Body body) {
  const std::int64_t pairs = n / (2 * kWhole) * (2 * kWhole);
  for (std::int64_t i = 0; i < pairs; i += 2 * kWhole) {
    const LanePair pair = load_pair(x + i);
    body(0, Whole{}, pair.first);
    body(1, Whole{}, pair.second);
  }
  across_registers(n - pairs, [&](auto part, std::int64_t i) { body(0, part, load(part, x + pairs + i)); });
}

// 2 KiB arrive in the time of a miss. Hardware prefetches less far ahead alongside arithmetic, and stops at the end of a page;
// a prefetch beyond the array does nothing.
constexpr std::int64_t kPrefetchDistance = 1024;

// y [n] = function(x ...), of registers.
template <typename Function, typename... Inputs>
static inline void map_registers(Bf16* y, std::int64_t n, Function function, const Inputs*... x) {
  const std::int64_t pairs = n / (2 * kWhole) * (2 * kWhole);
  for (std::int64_t i = 0; i < pairs; i += 2 * kWhole) {
    (__builtin_prefetch(x + i + kPrefetchDistance), ...);
    __builtin_prefetch(y + i + kPrefetchDistance, 1);
    store_pair(y + i, {function(load_pair(x + i).first...), function(load_pair(x + i).second...)});
  }
  across_registers(n - pairs,
                   [=](auto part, std::int64_t i) { store(part, y + pairs + i, function(load(part, x + pairs + i)...)); });
}
#endif

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
