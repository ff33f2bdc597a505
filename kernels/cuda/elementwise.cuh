// Element-wise kernels of one or two tensors. They are bound by memory bandwidth, so a thread issues several 16-byte loads
// before it computes.
#pragma once

#include "kernels/cuda/register_pack.cuh"

namespace epochbench::cuda {

inline constexpr int kThreads = 256;
// 16-byte loads in flight per thread and tensor: 64 KB per multiprocessor with 2048 threads. At 4.8 TB/s, 132 multiprocessors
// and a latency of 700 ns, 25 KB would be enough (Little's law); the rest covers threads that compute or end.
inline constexpr int kPacks = 2;

template <typename T>
inline constexpr int kWide = 16 / static_cast<int>(sizeof(T));  // elements in 16 bytes

// `Of` has kInputs, 1 or 2, and a function that computes out[i] from elements first + i of the inputs; `first` is a multiple of
// kCount, or kCount is 1:
//   template <int kCount>
//   void operator()(float (&out)[kCount], const float (&a)[kCount], const float (&b)[kCount], std::int64_t first) const;

// A block processes kThreads * kPacks packs of 16 bytes; the last block also processes the elements that do not fill a pack.
template <typename T, typename Of>
__global__ void __launch_bounds__(kThreads) elementwise_kernel(T* y, const T* a, const T* b, std::int64_t n, Of of) {
  constexpr int kCount = kWide<T>;
  const std::int64_t packs = n / kCount, first = static_cast<std::int64_t>(blockIdx.x) * (kThreads * kPacks) + threadIdx.x;
  RegisterPack<T, kCount> of_a[kPacks], of_b[kPacks];
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const std::int64_t at = first + p * kThreads;
    if (at >= packs) break;
    of_a[p] = load_registers<kCount>(a + at * kCount);
    if constexpr (Of::kInputs == 2) of_b[p] = load_registers<kCount>(b + at * kCount);
  }
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const std::int64_t at = first + p * kThreads;
    if (at >= packs) break;
    float from_a[kCount], from_b[kCount] = {}, out[kCount];
    for (int i = 0; i < kCount; ++i) {
      from_a[i] = element(of_a[p], i);
      if constexpr (Of::kInputs == 2) from_b[i] = element(of_b[p], i);
    }
    of(out, from_a, from_b, at * kCount);
    store_registers(y + at * kCount, to_registers<T>(out));
  }
  const std::int64_t last = packs * kCount + threadIdx.x;
  if (blockIdx.x + 1 == gridDim.x && last < n) {
    const float from_a[1] = {to_float(a[last])}, from_b[1] = {Of::kInputs == 2 ? to_float(b[last]) : 0};
    float out[1];
    of(out, from_a, from_b, last);
    y[last] = from_float<T>(out[0]);
  }
}

template <typename T, typename Of>
void elementwise(void* y, const void* a, const void* b, std::int64_t n, const Of& of, Stream stream) {
  if (n == 0) return;
  const std::int64_t blocks = ceil_div(n, std::int64_t{kThreads} * kPacks * kWide<T>);
  launch(elementwise_kernel<T, Of>, dim3(static_cast<unsigned>(blocks)), dim3(kThreads), 0, stream, static_cast<T*>(y),
         static_cast<const T*>(a), static_cast<const T*>(b), n, of);
}

}  // namespace epochbench::cuda
