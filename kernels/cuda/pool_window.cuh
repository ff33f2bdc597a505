// Shared by the kernels that pool over windows: a block processes a row of pixels, each thread packs of channels.
#pragma once

#include "kernels/cuda/device_code.cuh"

namespace epochbench::cuda {

constexpr int kPoolThreads = 256;

// As many threads as a row of `packs` needs, in whole warps.
inline unsigned pool_threads(std::int64_t packs) {
  return static_cast<unsigned>(packs < kPoolThreads ? ceil_div(packs, kWarp) * kWarp : kPoolThreads);
}

// The windows along one axis that cover a pixel.
struct Cover {
  int first, last;  // last < first: none
};
__device__ inline Cover cover(int pixel, int window, int stride, int padding, int out_extent) {
  const int reach = pixel + padding;  // the last window starts at or before it, the first one at most window - 1 before
  const int first = reach < window ? 0 : (reach - window) / stride + 1;
  return {first, reach < 0 ? -1 : min(reach / stride, out_extent - 1)};
}

}  // namespace epochbench::cuda
