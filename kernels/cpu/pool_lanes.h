// Maxima over windows by registers of channels: the largest number so far and its position in the window, which is stored as a
// byte. Masks: bool for One number, __mmask16 or __m256 for a register.
#pragma once

#include "kernels/cpu/lanes.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// Where x replaces the best: it is larger, or a NaN, which always wins, so that divergence is visible.
static inline bool wins(One, float x, float best) { return x > best || x != x; }
static inline float chosen(bool mask, float x, float otherwise) { return mask ? x : otherwise; }
static inline void store_position(One, std::uint8_t* p, float position) { *p = static_cast<std::uint8_t>(position); }
static inline bool is_at(One, const std::uint8_t* p, int position) { return *p == position; }
static inline float kept(bool mask, float x) { return mask ? x : 0; }
static inline float all(One, float x) { return x; }

#if defined(__AVX512F__)
template <typename Part>
static inline __mmask16 wins(Part, Lanes x, Lanes best) {
  return static_cast<__mmask16>(_mm512_cmp_ps_mask(x, best, _CMP_GT_OQ) | _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q));
}
static inline Lanes chosen(__mmask16 mask, Lanes x, Lanes otherwise) { return _mm512_mask_mov_ps(otherwise, mask, x); }
static inline void store_position(First first, std::uint8_t* p, Lanes position) {
  _mm512_mask_cvtepi32_storeu_epi8(p, first.mask, _mm512_maskz_cvttps_epi32(0xffff, position));
}
static inline void store_position(Whole, std::uint8_t* p, Lanes position) { store_position(First{0xffff}, p, position); }
static inline __mmask16 is_at(First first, const std::uint8_t* p, int position) {
  return _mm_mask_cmpeq_epi8_mask(first.mask, _mm_maskz_loadu_epi8(first.mask, p), _mm_set1_epi8(static_cast<char>(position)));
}
static inline __mmask16 is_at(Whole, const std::uint8_t* p, int position) { return is_at(First{0xffff}, p, position); }
static inline Lanes kept(__mmask16 mask, Lanes x) { return _mm512_maskz_mov_ps(mask, x); }
template <typename Part>
static inline Lanes all(Part, float x) {
  return _mm512_set1_ps(x);
}
#elif defined(__AVX2__)
static inline Lanes wins(Whole, Lanes x, Lanes best) {
  return _mm256_or_ps(_mm256_cmp_ps(x, best, _CMP_GT_OQ), _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}
static inline Lanes chosen(Lanes mask, Lanes x, Lanes otherwise) { return _mm256_blendv_ps(otherwise, x, mask); }
static inline void store_position(Whole, std::uint8_t* p, Lanes position) {
  const __m256i wide = _mm256_cvttps_epi32(position);
  const __m128i halves = _mm_packus_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packus_epi16(halves, halves));
}
static inline Lanes is_at(Whole, const std::uint8_t* p, int position) {
  const __m256i at = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  return _mm256_castsi256_ps(_mm256_cmpeq_epi32(at, _mm256_set1_epi32(position)));
}
static inline Lanes kept(Lanes mask, Lanes x) { return _mm256_and_ps(mask, x); }
static inline Lanes all(Whole, float x) { return _mm256_set1_ps(x); }
#endif

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
