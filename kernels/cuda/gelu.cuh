// GELU in its erf and its tanh form (Hendrycks and Gimpel 2016) and their gradients, as functions of elements for
// activation.cu.
#pragma once

#include "kernels/cuda/device_code.cuh"

namespace epochbench::cuda {

// The erf form. kExact: accurate in the lower tail too, where 1 + erf cancels. 16-bit results do not need that: only values
// below 2^-20 of the largest would change.
template <bool kExact>
__device__ inline float normal_probability(float x) {
  constexpr float kSqrtHalf = 0.707106781f;
  if constexpr (kExact)
    return 0.5f * erfcf(-kSqrtHalf * x);
  else
    return 0.5f + 0.5f * erff(kSqrtHalf * x);
}
template <bool kExact>
__device__ inline float normal_density(float x) {
  constexpr float kInverseSqrtTwoPi = 0.398942280f;
  const float exponent = -0.5f * x * x;
  return kInverseSqrtTwoPi * (kExact ? expf(exponent) : __expf(exponent));
}

template <bool kExact>
struct Gelu {
  static constexpr int kInputs = 1;
  template <int kCount>
  __device__ void operator()(float (&out)[kCount], const float (&x)[kCount], const float (&)[kCount], std::int64_t) const {
    for (int i = 0; i < kCount; ++i) out[i] = x[i] * normal_probability<kExact>(x[i]);
  }
};

template <bool kExact>
struct GeluGrad {
  static constexpr int kInputs = 2;
  template <int kCount>
  __device__ void operator()(float (&out)[kCount], const float (&dy)[kCount], const float (&x)[kCount], std::int64_t) const {
    for (int i = 0; i < kCount; ++i) out[i] = dy[i] * (normal_probability<kExact>(x[i]) + x[i] * normal_density<kExact>(x[i]));
  }
};

// The tanh form is x times the logistic function of w = 2 sqrt(2 / pi) (x + 0.044715 x^3).
constexpr float kLinear = 1.595769122f, kCubic = 0.071354816f;  // 2 sqrt(2 / pi), and that times 0.044715
template <bool kExact>
__device__ inline float logistic_of_cubic(float x) {
  const float minus_w = -x * (kLinear + kCubic * x * x);
  return 1 / (1 + (kExact ? expf(minus_w) : __expf(minus_w)));
}

template <bool kExact>
struct GeluTanh {
  static constexpr int kInputs = 1;
  template <int kCount>
  __device__ void operator()(float (&out)[kCount], const float (&x)[kCount], const float (&)[kCount], std::int64_t) const {
    for (int i = 0; i < kCount; ++i) out[i] = x[i] * logistic_of_cubic<kExact>(x[i]);
  }
};

template <bool kExact>
struct GeluTanhGrad {
  static constexpr int kInputs = 2;
  template <int kCount>
  __device__ void operator()(float (&out)[kCount], const float (&dy)[kCount], const float (&x)[kCount], std::int64_t) const {
    for (int i = 0; i < kCount; ++i) {
      constexpr float kLastSquare = 256;  // far beyond where f (1 - f) is 0, and its product with a slope stays 0
      const float f = logistic_of_cubic<kExact>(x[i]), slope = kLinear + 3 * kCubic * fminf(x[i] * x[i], kLastSquare);
      out[i] = dy[i] * (f + x[i] * slope * f * (1 - f));
    }
  }
};

}  // namespace epochbench::cuda
