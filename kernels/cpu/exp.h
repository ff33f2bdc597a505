// The exponentials that the kernels use: one in plain arithmetic, so that loops over it vectorize, and one for results that
// are rounded to Bf16. Not for large arguments.
#pragma once

#include "kernels/cpu/lanes.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// exp(x) for x <= 0, or slightly above, to 2 units in the last place; 0 below -87, where the result approaches the smallest
// normal float. A NaN stays NaN.
static inline float exp_of_nonpositive(float x) {
  constexpr float kRound = 0x1.8p23f;  // adding it rounds to an integer in the low bits
  const float shifted = x * 1.44269504f + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;  // x - n ln 2, in two parts (Cody and Waite)
  float p = 1.0f / 5040;  // Taylor series: |r| <= ln 2 / 2, so the next term is below 6e-9
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1;
  p = p * r + 1;
  const std::uint32_t power_of_two = (__builtin_bit_cast(std::uint32_t, shifted) + 127u) << 23;
  const float value = p * __builtin_bit_cast(float, power_of_two);
  return x < -87 ? 0 : value;
}

// log(x) for normal x > 0, with an absolute error of 2^-23 and a rounding. A NaN stays NaN.
static inline float log_of_normal(float x) {
  constexpr std::uint32_t kRootHalf = 0x3f3504f3u;  // sqrt(1/2), so that the fraction is between it and sqrt(2)
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, x) - kRootHalf;
  const float fraction = __builtin_bit_cast(float, (bits & 0x007fffffu) + kRootHalf);
  const auto exponent = static_cast<float>(static_cast<std::int32_t>(bits) >> 23);
  // log(f) = 2 artanh((f - 1) / (f + 1)), a Taylor series whose next term is below 2^-30.
  const float s = (fraction - 1) / (fraction + 1), square = s * s;
  float p = 2.0f / 9;
  p = p * square + 2.0f / 7;
  p = p * square + 2.0f / 5;
  p = p * square + 2.0f / 3;
  p = p * square + 2;
  const float value = exponent * 0.693147181f + s * p;
  return x != x ? x : value;
}

#if defined(__AVX512F__)
// 2^x for x <= 0, or slightly above, with relative error 2^-23.6 and a few roundings; 0 below -126. Our minimax fit of degree 5
// on [0, 1), for the fraction of x. A NaN stays NaN.
static inline Lanes exp2_of_nonpositive(Lanes x) {
  const Lanes fraction = _mm512_maskz_reduce_ps(0xffff, x, _MM_FROUND_TO_NEG_INF);
  Lanes p = _mm512_set1_ps(0.0018775769f);
  p = _mm512_fmadd_ps(p, fraction, _mm512_set1_ps(0.0089893403f));
  p = _mm512_fmadd_ps(p, fraction, _mm512_set1_ps(0.0558263171f));
  p = _mm512_fmadd_ps(p, fraction, _mm512_set1_ps(0.2401536178f));
  p = _mm512_fmadd_ps(p, fraction, _mm512_set1_ps(0.6931530731f));
  p = _mm512_fmadd_ps(p, fraction, _mm512_set1_ps(0.9999999251f));
  const Bits counts = _mm512_cmp_ps_mask(x, _mm512_set1_ps(-126), _CMP_NLT_UQ);
  return _mm512_maskz_scalef_ps(counts, p, x);  // p * 2^floor(x)
}
// 2^x for x <= 0, with relative error 2^-13.6, a fiftieth of what rounding to Bf16 adds: our minimax fit of degree 3 on [0, 1),
// for the fraction of x. A NaN stays NaN.
static inline Lanes exp2_for_bf16(Lanes x) {
  const Lanes fraction = _mm512_maskz_reduce_ps(0xffff, x, _MM_FROUND_TO_NEG_INF);
  Lanes p = _mm512_set1_ps(0.0780245521f);
  p = _mm512_fmadd_ps(p, fraction, _mm512_set1_ps(0.2260671846f));
  p = _mm512_fmadd_ps(p, fraction, _mm512_set1_ps(0.6958334912f));
  p = _mm512_fmadd_ps(p, fraction, _mm512_set1_ps(0.9999252279f));
  return _mm512_maskz_scalef_ps(0xffff, p, x);  // p * 2^floor(x)
}
#endif

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
