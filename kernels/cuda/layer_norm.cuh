// Layer normalization of rows read by a Source, and its gradient, written by a Target; or, if not kCentered, root mean square
// normalization, which has neither a mean nor a bias. A warp holds a row of up to 1024 channels in registers, so that it is
// read once. For longer or unaligned rows, a block reads the row again from the cache.
//
// Statistics: the float mean of the row, then the mean and mean square of the deviations from it. This corrects the rounding of
// the mean, which would matter for a row with a small deviation.
//
// A Source has load<kSize>(i), which returns kSize elements from i on and is called once per element before
// load_again<kSize>(i), which returns the same. A Target has wanted(), store(i, values) and kHeldFloats, the number of channels
// per lane up to which its kernel also holds scale in registers.
#pragma once

#include "kernels/cuda/row_strips.cuh"

namespace epochbench::cuda {

inline constexpr int kWarpThreads = 128;   // of the kernels with one row per warp
inline constexpr int kBlockThreads = 256;  // of the kernels with one row per block
inline constexpr int kMaxLaneFloats = 32;  // of a row, per lane: 1024 channels
inline constexpr int kWarps = kWarpThreads / kWarp;
// Blocks per multiprocessor. Rows of 1024 channels in flight: 32 KB of 16-bit elements, more than hides the memory latency.
inline constexpr int kWarpBlocks = 4, kBlockBlocks = 4;

struct RowSums {
  float first, second;
};
// The first sums of a normalization that is not centered are 0.
template <bool kCentered = true>
__device__ inline RowSums warp_sums(RowSums sums) {
  return {kCentered ? warp_sum(sums.first) : 0, warp_sum(sums.second)};
}

// How to normalize a row given `center`, its mean up to rounding, from the sums of x - center and of its square.
struct Normalizer {
  float shift, inv_std;  // y = (x - center - shift) * inv_std * scale + bias
  __device__ Normalizer(RowSums sums, float n, float epsilon) : shift(sums.first / n) {
    const float variance = sums.second / n - shift * shift;
    inv_std = 1 / sqrtf((variance < 0 ? 0 : variance) + epsilon);
  }
};

// ---- One row per warp: at most kLaneFloats * 32 channels ----

// body(index of a lane's strip, its first channel) for each strip that exists.
template <int kSize, int kStrips, typename Body>
__device__ inline void for_each_strip(int channels, Body body) {
#pragma unroll  // otherwise a long body leaves the strips in memory
  for (int s = 0; s < kStrips; ++s) {
    const int c = (s * kWarp + static_cast<int>(threadIdx.x) % kWarp) * kSize;
    if (c < channels) body(s, c);
  }
}

// Scale and bias stay in registers for all rows of a warp.
template <typename T, int kSize, int kStrips, bool kCentered, typename Source>
__global__ void __launch_bounds__(kWarpThreads, kWarpBlocks)
    warp_kernel(T* y, float* mean, float* inv_std, Source source, const float* scale, const float* bias, std::int64_t rows,
                int channels, float epsilon) {
  const float n = static_cast<float>(channels);
  float slope[kStrips][kSize], offset[kStrips][kSize];
  for_each_strip<kSize, kStrips>(channels, [&](int s, int c) {
    load_floats(slope[s], scale + c);
    if constexpr (kCentered) load_floats(offset[s], bias + c);
  });
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp; row < rows;
       row += static_cast<std::int64_t>(gridDim.x) * kWarps) {
    const std::int64_t at = row * channels;
    RegisterPack<T, kSize> strips[kStrips] = {};
    for_each_strip<kSize, kStrips>(channels, [&](int s, int c) { strips[s] = source.template load<kSize>(at + c); });
    float sum = 0;  // strips beyond the row are 0
    for (int s = 0; s < kStrips; ++s)
      for (int i = 0; i < kSize; ++i) sum += element(strips[s], i);
    const float center = kCentered ? warp_sum(sum) / n : 0;
    RowSums sums = {};
    for_each_strip<kSize, kStrips>(channels, [&](int s, int) {
      for (int i = 0; i < kSize; ++i) {
        const float d = element(strips[s], i) - center;
        if constexpr (kCentered) sums.first += d;
        sums.second += d * d;
      }
    });
    const Normalizer by(warp_sums<kCentered>(sums), n, epsilon);
    for_each_strip<kSize, kStrips>(channels, [&](int s, int c) {
      float values[kSize];
      for (int i = 0; i < kSize; ++i) {
        values[i] = (element(strips[s], i) - center - by.shift) * by.inv_std * slope[s][i];
        if constexpr (kCentered) values[i] += offset[s][i];
      }
      store_registers(y + at + c, to_registers<T>(values));
    });
    if (threadIdx.x % kWarp != 0) continue;
    if (mean != nullptr) mean[row] = center + by.shift;
    if (inv_std != nullptr) inv_std[row] = by.inv_std;
  }
}

// Blocks per multiprocessor for which there are registers: one less with float rows of more than 24 channels per lane.
template <typename T>
constexpr int grad_blocks(int lane_floats) {
  return sizeof(T) == 4 && lane_floats > 24 ? kStripBlocks - 1 : kStripBlocks;
}

// dx, and partials [blocks, 2, channels]: sums of dy (0 if not centered) and of dy * (x - mean) * inv_std over the block's
// rows.
template <typename T, int kSize, int kStrips, bool kCentered, typename Target>
__global__ void __launch_bounds__(kWarpThreads, grad_blocks<T>(kStrips* kSize))
    warp_grad_kernel(Target dx, float* partials, const T* dy, const T* x, const float* __restrict__ scale,
                     const float* __restrict__ mean, const float* __restrict__ inv_std, std::int64_t rows, int channels) {
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp;
  const float n = static_cast<float>(channels);
  float total[kStrips][kSize] = {}, products[kStrips][kSize] = {};
  // Scale stays in registers, except for the longest rows, which leave too few: there float dy is scaled in place, and for
  // 16-bit dy, which that would round, scale is loaded again.
  constexpr bool kHoldScale = kStrips * kSize <= Target::kHeldFloats, kScaleInPlace = !kHoldScale && sizeof(T) == 4;
  float held[kHoldScale ? kStrips : 1][kSize];
  if constexpr (kHoldScale) for_each_strip<kSize, kStrips>(channels, [&](int s, int c) { load_floats(held[s], scale + c); });
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kWarps + warp; row < rows;
       row += static_cast<std::int64_t>(gridDim.x) * kWarps) {
    const std::int64_t at = row * channels;
    RegisterPack<T, kSize> of_x[kStrips], of_dy[kStrips];
    for_each_strip<kSize, kStrips>(channels, [&](int s, int c) {
      of_dy[s] = load_registers<kSize>(dy + at + c);
      of_x[s] = load_registers<kSize>(x + at + c);
    });
    const float center = kCentered ? mean[row] : 0, inverse = inv_std[row];
    RowSums sums = {};
    for_each_strip<kSize, kStrips>(channels, [&](int s, int c) {
      float scaled[kSize];
      if constexpr (!kHoldScale) load_floats(scaled, scale + c);
      for (int i = 0; i < kSize; ++i) {
        const float g = element(of_dy[s], i), normalized = (element(of_x[s], i) - center) * inverse;
        if constexpr (kCentered) total[s][i] += g;
        products[s][i] += g * normalized;
        if constexpr (kHoldScale)
          scaled[i] = g * held[s][i];
        else
          scaled[i] *= g;
        if constexpr (kCentered) sums.first += scaled[i];
        sums.second += scaled[i] * normalized;
      }
      if constexpr (kScaleInPlace) of_dy[s] = to_registers<T>(scaled);
    });
    if (!dx.wanted()) continue;
    sums = warp_sums<kCentered>(sums);
    const float shift = sums.first / n, curve = sums.second / n;
    for_each_strip<kSize, kStrips>(channels, [&](int s, int c) {
      float values[kSize], factor[kSize];
      if constexpr (!kHoldScale && !kScaleInPlace) load_floats(factor, scale + c);
      for (int i = 0; i < kSize; ++i) {
        const float normalized = (element(of_x[s], i) - center) * inverse;
        float scaled = element(of_dy[s], i);
        if constexpr (kHoldScale)
          scaled *= held[s][i];
        else if constexpr (!kScaleInPlace)
          scaled *= factor[i];
        values[i] = inverse * (scaled - shift - normalized * curve);
      }
      dx.store(at + c, values);
    });
  }

  SHARED_ARRAY(float, of_block, 2 * kWarp * kMaxLaneFloats);  // [2, channels]; the warps add to it in turn
  for (int turn = 0; turn < kWarps; ++turn) {
    if (turn > 0) __syncthreads();
    if (turn == warp)
      for_each_strip<kSize, kStrips>(channels, [&](int s, int c) {
        for (int i = 0; i < kSize; ++i) {
          of_block[c + i] = turn == 0 ? total[s][i] : of_block[c + i] + total[s][i];
          of_block[channels + c + i] = turn == 0 ? products[s][i] : of_block[channels + c + i] + products[s][i];
        }
      });
  }
  __syncthreads();
  for (int i = thread; i < 2 * channels; i += kWarpThreads)
    partials[static_cast<std::int64_t>(blockIdx.x) * 2 * channels + i] = of_block[i];
}

// ---- One row per block, of any length ----

// body(first channel of a strip) for each strip of the thread.
template <int kSize, typename Body>
__device__ inline void for_each_strip_of_row(std::int64_t channels, Body body) {
#pragma unroll 1
  for (std::int64_t c = static_cast<std::int64_t>(threadIdx.x) * kSize; c < channels; c += kBlockThreads * kSize) body(c);
}

template <typename T, int kSize, bool kCentered, typename Source>
__global__ void __launch_bounds__(kBlockThreads, kBlockBlocks)
    block_kernel(T* y, float* mean, float* inv_std, Source source, const float* __restrict__ scale,
                 const float* __restrict__ bias, std::int64_t channels, float epsilon) {
  const std::int64_t row = blockIdx.x, at = row * channels;
  const float n = static_cast<float>(channels);
  float center = 0;
  if constexpr (kCentered) {
    float sum = 0;
    for_each_strip_of_row<kSize>(channels, [&](std::int64_t c) {
      const RegisterPack<T, kSize> strip = source.template load<kSize>(at + c);
      float of_strip = 0;
      for (int i = 0; i < kSize; ++i) of_strip += element(strip, i);
      sum += of_strip;
    });
    center = block_sum<kBlockThreads>(sum) / n;
  }
  RowSums sums = {};
  for_each_strip_of_row<kSize>(channels, [&](std::int64_t c) {
    RegisterPack<T, kSize> strip;
    if constexpr (kCentered)
      strip = source.template load_again<kSize>(at + c);
    else
      strip = source.template load<kSize>(at + c);
    RowSums of_strip = {};
    for (int i = 0; i < kSize; ++i) {
      const float d = element(strip, i) - center;
      of_strip.first += d;
      of_strip.second += d * d;
    }
    sums = {sums.first + of_strip.first, sums.second + of_strip.second};
  });
  sums = {kCentered ? block_sum<kBlockThreads>(sums.first) : 0, block_sum<kBlockThreads>(sums.second)};
  const Normalizer by(sums, n, epsilon);
  for_each_strip_of_row<kSize>(channels, [&](std::int64_t c) {
    const RegisterPack<T, kSize> strip = source.template load_again<kSize>(at + c);
    float values[kSize], slope[kSize], offset[kSize];
    load_floats(slope, scale + c);
    if constexpr (kCentered) load_floats(offset, bias + c);
    for (int i = 0; i < kSize; ++i) {
      values[i] = (element(strip, i) - center - by.shift) * by.inv_std * slope[i];
      if constexpr (kCentered) values[i] += offset[i];
    }
    store_registers(y + at + c, to_registers<T>(values));
  });
  if (threadIdx.x != 0) return;
  if (mean != nullptr) mean[row] = center + by.shift;
  if (inv_std != nullptr) inv_std[row] = by.inv_std;
}

// Like warp_grad_kernel; a thread adds to its own columns of the block's partials.
template <typename T, int kSize, bool kCentered, typename Target>
__global__ void __launch_bounds__(kBlockThreads, kBlockBlocks)
    block_grad_kernel(Target dx, float* partials, const T* dy, const T* x, const float* __restrict__ scale,
                      const float* __restrict__ mean, const float* __restrict__ inv_std, std::int64_t rows,
                      std::int64_t channels) {
  float *const totals = partials + static_cast<std::int64_t>(blockIdx.x) * 2 * channels, *const products = totals + channels;
  const float n = static_cast<float>(channels);
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const std::int64_t at = row * channels;
    const float center = kCentered ? mean[row] : 0, inverse = inv_std[row];
    RowSums sums = {};
    for_each_strip_of_row<kSize>(channels, [&](std::int64_t c) {
      const RegisterPack<T, kSize> of_dy = load_registers<kSize>(dy + at + c), of_x = load_registers<kSize>(x + at + c);
      float total[kSize] = {}, product[kSize] = {}, factor[kSize];
      load_floats(factor, scale + c);
      if (row != blockIdx.x) {
        load_floats(total, totals + c);
        load_floats(product, products + c);
      }
      RowSums of_strip = {};
      for (int i = 0; i < kSize; ++i) {
        const float g = element(of_dy, i), normalized = (element(of_x, i) - center) * inverse;
        if constexpr (kCentered) total[i] += g;
        product[i] += g * normalized;
        if constexpr (kCentered) of_strip.first += g * factor[i];
        of_strip.second += g * factor[i] * normalized;
      }
      store_floats(totals + c, total);
      store_floats(products + c, product);
      sums = {sums.first + of_strip.first, sums.second + of_strip.second};
    });
    if (!dx.wanted()) continue;
    const float shift = kCentered ? block_sum<kBlockThreads>(sums.first) / n : 0;
    const float curve = block_sum<kBlockThreads>(sums.second) / n;
    for_each_strip_of_row<kSize>(channels, [&](std::int64_t c) {
      const RegisterPack<T, kSize> of_dy = load_registers<kSize>(dy + at + c), of_x = load_registers<kSize>(x + at + c);
      float values[kSize], factor[kSize];
      load_floats(factor, scale + c);
      for (int i = 0; i < kSize; ++i) {
        const float normalized = (element(of_x, i) - center) * inverse;
        values[i] = inverse * (element(of_dy, i) * factor[i] - shift - normalized * curve);
      }
      dx.store(at + c, values);
    });
  }
}

// One warp per channel. A template, because two files have this kernel.
template <int kFinalThreads>
__global__ void __launch_bounds__(kFinalThreads)
    finish_grad_kernel(float* dscale, float* dbias, const float* partials, std::int64_t blocks, std::int64_t channels) {
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * (kFinalThreads / kWarp) + threadIdx.x / kWarp;
  if (c >= channels) return;
  RowSums sums = {};
  for (std::int64_t b = threadIdx.x % kWarp; b < blocks; b += kWarp) {
    sums.first += partials[b * 2 * channels + c];
    sums.second += partials[b * 2 * channels + channels + c];
  }
  sums = warp_sums(sums);
  if (threadIdx.x % kWarp != 0) return;
  if (dbias != nullptr) dbias[c] = sums.first;
  if (dscale != nullptr) dscale[c] = sums.second;
}

// Calls function(T{}, size, strips per lane) with constants; no strips: one row per block.
template <typename Function>
void with_strips(Element element, std::int64_t channels, Function function) {
  with_pack(element, channels, [&](auto zero, auto size) {
    constexpr int kSize = size();
    if constexpr (kSize > 1) {
      const std::int64_t lane_floats = ceil_div(channels, kWarp);
      if (lane_floats <= 8) return function(zero, size, std::integral_constant<int, 8 / kSize>{});
      if (lane_floats <= 16) return function(zero, size, std::integral_constant<int, 16 / kSize>{});
      if (lane_floats <= 24) return function(zero, size, std::integral_constant<int, 24 / kSize>{});
      if (lane_floats <= kMaxLaneFloats) return function(zero, size, std::integral_constant<int, kMaxLaneFloats / kSize>{});
    }
    function(zero, size, std::integral_constant<int, 0>{});
  });
}

// make_source(T{}): the Source for this element type. bias and mean are null if not centered.
template <bool kCentered = true, typename MakeSource>
void normalize_rows(void* y, float* mean, float* inv_std, const MakeSource& make_source, const float* scale, const float* bias,
                    std::int64_t rows, std::int64_t channels, double epsilon, Element element, Stream stream) {
  with_strips(element, channels, [&](auto zero, auto size, auto strips) {
    using T = decltype(zero);
    using Source = decltype(make_source(zero));
    T* const to = static_cast<T*>(y);
    const std::int64_t warp_blocks = ceil_div(rows, kWarps), max_blocks = writing_blocks();
    if constexpr (strips() > 0)
      launch(warp_kernel<T, size(), strips(), kCentered, Source>,
             dim3(static_cast<unsigned>(warp_blocks < max_blocks ? warp_blocks : max_blocks)), dim3(kWarpThreads), 0, stream,
             to, mean, inv_std, make_source(zero), scale, bias, rows, channels, epsilon);
    else
      launch(block_kernel<T, size(), kCentered, Source>, dim3(static_cast<unsigned>(rows)), dim3(kBlockThreads), 0, stream, to,
             mean, inv_std, make_source(zero), scale, bias, channels, epsilon);
  });
}

// make_target(T{}): the Target for this element type. dbias and mean are null if not centered.
template <bool kCentered = true, typename MakeTarget>
void normalized_rows_grad(const MakeTarget& make_target, float* dscale, float* dbias, const void* dy, const void* x,
                          const float* scale, const float* mean, const float* inv_std, std::int64_t rows, std::int64_t channels,
                          Element element, void* workspace, Stream stream) {
  constexpr int kFinalThreads = 256;
  float* const partials = static_cast<float*>(workspace);
  const std::int64_t blocks = whole_row_blocks(rows, channels, reducing_blocks());
  with_strips(element, channels, [&](auto zero, auto size, auto strips) {
    using T = decltype(zero);
    using Target = decltype(make_target(zero));
    const auto run = [&](auto kernel, int threads) {
      launch(kernel, dim3(static_cast<unsigned>(blocks)), dim3(static_cast<unsigned>(threads)), 0, stream, make_target(zero),
             partials, static_cast<const T*>(dy), static_cast<const T*>(x), scale, mean, inv_std, rows, channels);
    };
    if constexpr (strips() > 0)
      run(warp_grad_kernel<T, size(), strips(), kCentered, Target>, kWarpThreads);
    else
      run(block_grad_kernel<T, size(), kCentered, Target>, kBlockThreads);
  });
  launch(finish_grad_kernel<kFinalThreads>, dim3(static_cast<unsigned>(ceil_div(channels, kFinalThreads / kWarp))),
         dim3(kFinalThreads), 0, stream, dscale, dbias, partials, blocks, channels);
}

}  // namespace epochbench::cuda
