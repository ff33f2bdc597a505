// A clock that all multiprocessors share. How often it advances depends on the GPU: every 32 ns to 1 us.
#pragma once

#include <cstdint>

#include "kernels/cuda/device_code.cuh"

namespace epochbench::cuda {

#if defined(__CUDACC__)
__device__ inline std::uint64_t device_nanoseconds() {
  std::uint64_t nanoseconds;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
  return nanoseconds;
}
#else
std::uint64_t device_nanoseconds();  // defined by the test that runs the kernel on the CPU
#endif

}  // namespace epochbench::cuda
