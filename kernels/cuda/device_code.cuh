// Included by every .cu file: the CUDA headers, the macros that differ between nvcc and the compiler that builds the kernels
// for the CPU in tests (tests/support/cuda_on_cpu.h, included there with -include), and small device functions.
//
// Kernels that use this file may use threadIdx and the other built-in variables, __syncthreads, the __shfl_*_sync,
// __ballot_sync and __syncwarp functions, atomicAdd, and shared memory through the macros below. They must not use <<<>>>,
// __shared__ directly, cub, cooperative groups, inline PTX, half arithmetic (convert to float), or spin between blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "kernels/cuda/kernels.h"

#if defined(__CUDACC__)
#define SHARED_ARRAY(T, name, count) __shared__ T name[count]
// Dynamic shared memory of the size given to launch().
#define DYNAMIC_SHARED(T, name)                                   \
  extern __shared__ __align__(16) unsigned char dynamic_shared[]; \
  T* const name = reinterpret_cast<T*>(dynamic_shared)

namespace epochbench::cuda {

void check(cudaError_t status, const char* what);  // throws Error

template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes, Stream stream,
            Arguments&&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  check(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...), "launching a kernel");
}

}  // namespace epochbench::cuda
#endif

namespace epochbench::cuda {

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffu;

using bf16 = __nv_bfloat16;
using f16 = __half;

__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(bf16 x) { return __bfloat162float(x); }
__device__ inline float to_float(f16 x) { return __half2float(x); }
template <typename T>
__device__ inline T from_float(float x) {  // to nearest even
  if constexpr (std::is_same_v<T, bf16>)
    return __float2bfloat16_rn(x);
  else if constexpr (std::is_same_v<T, f16>)
    return __float2half_rn(x);
  else
    return x;
}

// 16 bytes that a thread loads and stores together; the address must be a multiple of 16.
template <typename T>
struct alignas(16) Vector {
  static constexpr int kSize = 16 / static_cast<int>(sizeof(T));
  T value[kSize];
};

// Sums in a fixed order; every lane receives the result.
__device__ inline float warp_sum(float value) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(kAllLanes, value, offset);
  return value;
}
__device__ inline float warp_max(float value) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2) value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, offset));
  return value;
}
// The sum over all threads of a block of kThreads, a multiple of 32; every thread receives the result. Contains two barriers.
template <int kThreads>
__device__ inline float block_sum(float value) {
  static_assert(kThreads % kWarp == 0);
  SHARED_ARRAY(float, of_warp, kThreads / kWarp);
  value = warp_sum(value);
  __syncthreads();  // of_warp of the previous call may still be in use
  if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = value;
  __syncthreads();
  value = 0;
  for (int i = 0; i < kThreads / kWarp; ++i) value += of_warp[i];
  return value;
}

// Calls function(T{}) with the type that `element` denotes.
template <typename Function>
void with_type(Element element, Function&& function) {
  switch (element) {
    case Element::f32:
      return function(float{});
    case Element::bf16:
      return function(bf16{});
    case Element::f16:
      return function(f16{});
  }
}

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace epochbench::cuda
