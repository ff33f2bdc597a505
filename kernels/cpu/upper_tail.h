// The upper tail of the normal distribution, for GELU.
//
// With t = |x|, GELU and its gradient follow from the tail Phi(-t) = decay(t) * mills(t): decay is exp(-t * t / 2), and mills,
// Mills' ratio over sqrt(2 pi), is smooth. So the left tail keeps its relative accuracy, which 1 + erf(x / sqrt(2)) would lose
// to cancellation. The coefficients are our minimax fits, computed with 30 digits by Lawson's algorithm: mills is rational of
// degrees 4 and 5 on [0, 13.2], with relative error 4.9e-9; exp has degree 6 on |r| <= ln 2 / 2, with relative error 3.1e-9.
// The coefficients of the fraction are positive, so nothing cancels.
//
// For Bf16, whose rounding has a relative error of 2^-8, Phi(-t) has one of 2^-12.5: mills is our minimax fit of degree 5 in
// 1 / (1 + 0.375 t) (the form of Hastings, "Approximations for Digital Computers", 1955), with relative error 2^-15.2 and
// 2^-14 of the reciprocal; the rest is exp2_for_bf16's. It is enough for codes of 8 bits, too: GELU is off by at most 2^-12.5
// of 0.17, its minimum, and that is a twentieth of a step in the narrowest range that has this minimum.
#pragma once

#include "kernels/cpu/exp.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/lanes.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

struct UpperTail {
  float decay, mills;
};

// Beyond it, t * Phi(-t) < 8e-38 approaches the smallest normal float; it counts as 0, and so does the slope.
constexpr float kLast = 13;

// a * b + c, rounded once if the CPU can. The accuracy must not depend on what the compiler contracts.
static inline float multiply_add(float a, float b, float c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

// t >= 0. The result is undefined above kLast; for a NaN, mills is NaN.
static inline UpperTail upper_tail(float t) {
  constexpr float kRound = 0x1.8p23f;  // adding it rounds to an integer in the low bits
  const float shifted = (t * -0.72134752f) * t + kRound;
  const float n = shifted - kRound;  // n = round(-t * t / 2 / ln 2)
  // s = -2 r, where r = -t * t / 2 - n ln 2 with ln 2 in two parts (Cody and Waite); n times the first part is exact, and t * t
  // is never rounded. So the coefficients of exp(r) include powers of -1/2.
  float s = multiply_add(t, t, n * (2 * 0.693359375f));
  s = multiply_add(n, 2 * -2.12194440e-4f, s);
  float p = 0.0013814482412f / 64;
  p = multiply_add(p, s, -0.0083687804521f / 32);
  p = multiply_add(p, s, 0.041668394007f / 16);
  p = multiply_add(p, s, -0.16666520107f / 8);
  p = multiply_add(p, s, 0.49999993413f / 4);
  p = multiply_add(p, s, -0.5f);
  p = multiply_add(p, s, 1);
  // p is between 0.7 and 1.42: n is added to its exponent.
  const float decay =
      __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, p) + (__builtin_bit_cast(std::uint32_t, shifted) << 23));

  float above = 0.00401188322132f;
  above = multiply_add(above, t, 0.0399278265982f);
  above = multiply_add(above, t, 0.18113886048f);
  above = multiply_add(above, t, 0.435458308364f);
  above = multiply_add(above, t, 0.5f);
  float below = 0.0100561544737f;
  below = multiply_add(below, t, 0.100091686937f);
  below = multiply_add(below, t, 0.463937227634f);
  below = multiply_add(below, t, 1.19378461976f);
  below = multiply_add(below, t, 1.66880152938f);
  below = multiply_add(below, t, 1);
  return {decay, above / below};
}

static inline float gelu_of(float value) {
  const float t = __builtin_fabsf(value);
  const UpperTail tail = upper_tail(t);
  const float missing = t > kLast ? 0 : t * tail.mills * tail.decay;  // t * Phi(-t)
  return (value > 0 ? value : 0) - missing;
}

#if defined(__AVX512F__)

struct LanesTail {
  Lanes decay, mills;
};

static inline Lanes all_lanes(float x) { return _mm512_set1_ps(x); }

// t >= 0.
static inline LanesTail upper_tail(Lanes t) {
  const Lanes decay = exp2_for_bf16(t * all_lanes(-0.72134752f) * t);  // 2^(-t * t / 2 / ln 2)
  const Lanes u = _mm512_maskz_rcp14_ps(0xffff, _mm512_fmadd_ps(t, all_lanes(0.375153568f), all_lanes(1)));
  Lanes mills = all_lanes(-0.0913786210f);
  mills = _mm512_fmadd_ps(mills, u, all_lanes(0.2016061674f));
  mills = _mm512_fmadd_ps(mills, u, all_lanes(0.0825321127f));
  mills = _mm512_fmadd_ps(mills, u, all_lanes(0.1581432333f));
  mills = _mm512_fmadd_ps(mills, u, all_lanes(0.1490840459f));
  return {decay, mills * u};
}

static inline Lanes magnitude(Lanes x) { return _mm512_maskz_andnot_ps(0xffff, all_lanes(-0.0f), x); }
static inline Bits counts(Lanes t) { return _mm512_cmp_ps_mask(t, all_lanes(kLast), _CMP_NGT_UQ); }

static inline Lanes gelu_of(Lanes value) {
  const Lanes t = magnitude(value);
  const LanesTail tail = upper_tail(t);
  return relu_of(Whole{}, value) - where(counts(t), t * tail.mills * tail.decay);
}

#endif

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
