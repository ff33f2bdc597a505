// The exponential that the kernels use: plain arithmetic, so that loops over it vectorize. Not for large arguments.
#pragma once

#include "kernels/cpu/isa.h"

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

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
