// The exponential of the softmax kernels.
#pragma once

#include "kernels/cuda/device_code.cuh"

namespace epochbench::cuda {

// For tensors of T. Of float to an ulp or two. Where results have 8 or 11 bits, the fast one, which is off by about |x| ulp, is
// still far within their rounding.
template <typename T>
__device__ inline float exponential(float x) {
  if constexpr (std::is_same_v<T, float>)
    return expf(x);
  else
    return __expf(x);
}

}  // namespace epochbench::cuda
