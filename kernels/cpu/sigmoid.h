// The logistic function and the hyperbolic tangent, in plain arithmetic that vectorizes.
#pragma once

#include "kernels/cpu/exp.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// 1 / (1 + exp(-x)), to a few units in the last place; 0 below -87. The exponent is never positive, so nothing overflows.
static inline float sigmoid_of(float x) {
  const float e = exp_of_nonpositive(-__builtin_fabsf(x)), upper = 1 / (1 + e);
  return x < 0 ? e * upper : upper;
}

// To a few units in the last place. Where 1 - exp(-2|x|) would lose digits to cancellation, the Taylor series up to x^9, whose
// next term is below 2^-26 of the result.
static inline float tanh_of(float x) {
  const float t = __builtin_fabsf(x), e = exp_of_nonpositive(-2 * t), square = t * t;
  float p = 62.0f / 2835;
  p = p * square - 17.0f / 315;
  p = p * square + 2.0f / 15;
  p = p * square - 1.0f / 3;
  p = p * square + 1;
  return __builtin_copysignf(t < 0.25f ? t * p : (1 - e) / (1 + e), x);
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
