// The logistic sigmoid, computed from exp(-|x|), which does not overflow; both tails keep their relative accuracy.
#pragma once

#include "kernels/cuda/device_code.cuh"

namespace epochbench::cuda {

struct Logistic {
  float value, complement;  // sigmoid(x) and 1 - sigmoid(x) = sigmoid(-x)
};
// kExact: results that are rounded to 16 bits do not need the last bits of the exponential.
template <bool kExact>
__device__ inline Logistic logistic(float x) {
  const float magnitude = fabsf(x), decay = kExact ? expf(-magnitude) : __expf(-magnitude);
  const float above = 1 / (1 + decay), below = decay * above;
  return {x > 0 ? above : below, x > 0 ? below : above};
}

// The derivative of x sigmoid(x).
template <bool kExact>
__device__ inline float silu_gradient(float x) {
  const Logistic s = logistic<kExact>(x);
  return s.value * (1 + x * s.complement);
}

}  // namespace epochbench::cuda
