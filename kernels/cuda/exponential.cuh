// The exponential of the softmax kernels.
#pragma once

#include "kernels/cuda/device_code.cuh"

namespace epochbench::cuda {

// For tensors of T. For float, accurate to an ulp or two. Results with 8 or 11 bits use the fast version: its error of about
// |x| ulp is far below their rounding.
template <typename T>
__device__ inline float exponential(float x) {
  if constexpr (std::is_same_v<T, float>)
    return expf(x);
  else
    return __expf(x);
}

}  // namespace epochbench::cuda
