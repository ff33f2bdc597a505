// The last step of a reduction: adds the partial sums of its blocks in a fixed order.
#pragma once

#include "kernels/cuda/device_code.cuh"

namespace epochbench::cuda {

// partials [row_blocks, row_elements], whose first `channels` columns count. Several lanes per channel sum them, each
// every kSumLanes-th.
inline constexpr int kSumThreads = 256, kSumChannels = 32, kSumLanes = kSumThreads / kSumChannels;
template <typename T>
__global__ void __launch_bounds__(kSumThreads) sum_partials_kernel(T* sums, const float* partials, std::int64_t channels,
                                                                   std::int64_t row_elements, std::int64_t row_blocks) {
  const int column = static_cast<int>(threadIdx.x) % kSumChannels, lane = static_cast<int>(threadIdx.x) / kSumChannels;
  const std::int64_t channel = static_cast<std::int64_t>(blockIdx.x) * kSumChannels + column;
  float sum = 0;
  if (channel < channels)
    for (std::int64_t block = lane; block < row_blocks; block += kSumLanes) sum += partials[block * row_elements + channel];
  SHARED_ARRAY(float, of_lanes, kSumThreads);
  of_lanes[threadIdx.x] = sum;
  __syncthreads();
  if (lane != 0 || channel >= channels) return;
  for (int other = 1; other < kSumLanes; ++other) sum += of_lanes[other * kSumChannels + column];
  sums[channel] = from_float<T>(sum);
}

template <typename T>
void sum_partials(T* sums, const float* partials, std::int64_t channels, std::int64_t row_elements, std::int64_t row_blocks,
                  Stream stream) {
  launch(sum_partials_kernel<T>, dim3(static_cast<unsigned>(ceil_div(channels, kSumChannels))), dim3(kSumThreads), 0, stream,
         sums, partials, channels, row_elements, row_blocks);
}

}  // namespace epochbench::cuda
