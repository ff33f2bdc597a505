// Codes of numbers, 16 at once, as encode() in kernels/int8.h makes them.
#pragma once

#include "kernels/cpu/upper_tail.h"
#include "kernels/int8.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// Limits are integers, so clamping before rounding gives the same as after it, and no conversion overflows. The limit is the
// second operand of max, so a NaN becomes the limit. With relu, the lowest code is that of 0.
struct Encoder {
  Lanes inverse, low, high;  // 1 / scale; limits of code - zero
  __m128i zero;
  __m512i low_step, zero_step;  // low and zero as 16-bit integers
};
static inline Encoder encoder_of(const float* range, bool relu) {
  const ByteCode code = byte_code(range);
  const std::int32_t low = relu ? 0 : -code.zero;
  return {all_lanes(1 / code.scale),
          all_lanes(static_cast<float>(low)),
          all_lanes(static_cast<float>(255 - code.zero)),
          _mm_set1_epi8(static_cast<char>(code.zero)),
          _mm512_set1_epi16(static_cast<short>(low)),
          _mm512_set1_epi16(static_cast<short>(code.zero))};
}
static inline __m128i codes_of(const Encoder& encoder, Lanes x) {
  const Lanes steps = _mm512_maskz_min_ps(
      0xffff, _mm512_maskz_max_ps(0xffff, _mm512_maskz_mul_ps(0xffff, x, encoder.inverse), encoder.low), encoder.high);
  return _mm_add_epi8(_mm512_maskz_cvtepi32_epi8(0xffff, _mm512_maskz_cvtps_epi32(0xffff, steps)), encoder.zero);
}

// The same for 32 columns of two rows at once, with saturated packing in place of one limit: numbers first[row], second[row].
// The limit is the first operand of min, so a NaN passes through and becomes the lowest integer.
static inline void store_two_rows(std::uint8_t* y, std::int64_t stride, const Encoder& encoder, const Lanes (&first)[2],
                                  const Lanes (&second)[2]) {
  const auto steps_of = [&](Lanes x) {
    const Lanes steps = _mm512_maskz_min_ps(0xffff, encoder.high, _mm512_maskz_mul_ps(0xffff, x, encoder.inverse));
    return _mm512_maskz_cvtps_epi32(0xffff, steps);
  };
  __m512i halves[2];  // alternately 4 columns of the first vector and 4 of the second
  for (int row = 0; row < 2; ++row) {
    const __m512i steps = _mm512_packs_epi32(steps_of(first[row]), steps_of(second[row]));
    halves[row] = _mm512_add_epi16(_mm512_max_epi16(steps, encoder.low_step), encoder.zero_step);
  }
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i codes = _mm512_maskz_permutexvar_epi32(0xffff, order, _mm512_packus_epi16(halves[0], halves[1]));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), _mm512_maskz_extracti64x4_epi64(0xff, codes, 0));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + stride), _mm512_maskz_extracti64x4_epi64(0xff, codes, 1));
}
static inline void store_codes(Whole, std::uint8_t* y, const Encoder& encoder, Lanes x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(y), codes_of(encoder, x));
}
static inline void store_codes(First first, std::uint8_t* y, const Encoder& encoder, Lanes x) {
  _mm_mask_storeu_epi8(y, first.mask, codes_of(encoder, x));
}
static inline __m128i load_codes(Whole, const std::uint8_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
static inline __m128i load_codes(First first, const std::uint8_t* p) { return _mm_maskz_loadu_epi8(first.mask, p); }

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
