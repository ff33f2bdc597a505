// The gradient of batch normalization, with those of ReLU and of the shortcut: one launch computes the sums over rows, one the
// coefficients, one writes dx.
#include "kernels/cuda/row_strips.cuh"

namespace epochbench::cuda {
namespace {

// Rows in flight per thread, of two tensors or three: 2 x 2 x 16 bytes x 768 threads, and 4 x 2 x 16 bytes x 512, are twice
// what hides the memory latency.
constexpr int kReducedRows = 2, kWrittenRows = 4;
constexpr int kBlocksThatWrite = 2;  // per multiprocessor: coefficients take up to 128 registers per thread
constexpr int kFinalThreads = 256;

// The incoming gradient: (dy [+ dy2]) where y was above 0, rounded like a tensor between two nodes.
template <typename T>
struct Upstream {
  const T *dy, *dy2;
  const std::uint8_t* mask;
  const T* y;
};
// g[r] = row r of `count`.
template <typename T, int kSize, int kCount>
__device__ inline void load_upstream(RegisterPack<T, kSize> (&g)[kCount], const Upstream<T>& from, std::int64_t first,
                                     std::int64_t step, int count) {
  load_rows(g, from.dy, first, step, count);
  RegisterPack<T, kSize> second[kCount] = {};
  if (from.dy2 != nullptr) load_rows(second, from.dy2, first, step, count);
  unsigned above[kCount];
  for (int r = 0; r < kCount; ++r) above[r] = ~0u;
  if (from.mask != nullptr) {
    for (int r = 0; r < kCount; ++r)
      if (r < count) above[r] = static_cast<unsigned>(from.mask[(first + r * step) / 8]) >> (first + r * step) % 8;
  } else if (from.y != nullptr) {
    RegisterPack<T, kSize> y[kCount];
    load_rows(y, from.y, first, step, count);
    for (int r = 0; r < kCount; ++r)
      if (r < count)
        for (int i = 0; i < kSize; ++i) above[r] ^= (element(y[r], i) > 0 ? 0u : 1u) << i;
  }
  for (int r = 0; r < kCount; ++r) {
    if (r >= count) continue;
    float values[kSize];
    for (int i = 0; i < kSize; ++i) {
      const float sum = from.dy2 != nullptr ? element(g[r], i) + element(second[r], i) : element(g[r], i);
      values[i] = (above[r] >> i & 1) != 0 ? sum : 0;
    }
    g[r] = to_registers<T>(values);
  }
}

// partials [row_blocks, 2, channels]: sums of g and of g * (x - mean). dz (or null) = g.
template <typename T, int kSize>
__global__ void __launch_bounds__(kStripThreads, kStripBlocks)
    gradient_sums_kernel(float* partials, T* dz, Upstream<T> from, const T* x, const float* mean, Strips strips) {
  const StripPlace<kSize> place = strip_place<kSize>(strips);
  float center[kSize] = {}, sum[kSize] = {}, product[kSize] = {};
  if (place.active) load_floats(center, mean + place.channel);
  for_each_chunk<kSize, kReducedRows, false>(strips, place, [&](std::int64_t first, std::int64_t step, int count) {
    RegisterPack<T, kSize> g[kReducedRows], packs[kReducedRows];
    load_rows(packs, x, first, step, count);
    load_upstream(g, from, first, step, count);
    if (dz != nullptr)
      for (int r = 0; r < kReducedRows; ++r)
        if (r < count) store_registers(dz + first + r * step, g[r]);
    for (int i = 0; i < kSize; ++i) {
      float of_rows = 0, products_of_rows = 0;
      for (int r = 0; r < kReducedRows; ++r) {
        if (r >= count) continue;
        const float value = element(g[r], i);
        of_rows += value;
        products_of_rows += value * (element(packs[r], i) - center[i]);
      }
      sum[i] += of_rows;
      product[i] += products_of_rows;
    }
  });
  for (int offset = kWarp / 2; offset >= strips.width; offset /= 2)
    for (int i = 0; i < kSize; ++i) {
      sum[i] += __shfl_down_sync(kAllLanes, sum[i], static_cast<unsigned>(offset));
      product[i] += __shfl_down_sync(kAllLanes, product[i], static_cast<unsigned>(offset));
    }

  constexpr int kWarps = kStripThreads / kWarp, kTile = kStripWidth * kSize;
  SHARED_ARRAY(float, of_warps, kWarps * 2 * kTile);
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp, warp = thread / kWarp, width = strips.width;
  if (lane < width)
    for (int i = 0; i < kSize; ++i) {
      of_warps[warp * 2 * kTile + lane * kSize + i] = sum[i];
      of_warps[warp * 2 * kTile + kTile + lane * kSize + i] = product[i];
    }
  __syncthreads();
  const std::int64_t channel = static_cast<std::int64_t>(blockIdx.x) * width * kSize + thread;
  if (thread >= width * kSize || channel >= strips.channels) return;
  float total = 0, products = 0;
  for (int w = 0; w < kWarps; ++w) {
    total += of_warps[w * 2 * kTile + thread];
    products += of_warps[w * 2 * kTile + kTile + thread];
  }
  float* out = partials + static_cast<std::int64_t>(blockIdx.y) * 2 * strips.channels + channel;
  out[0] = total;
  out[strips.channels] = products;
}

// coefficients [4, channels]: dx = slope * g + (curve * (x - center) + offset). One warp per channel.
__global__ void __launch_bounds__(kFinalThreads)
    finish_gradient_kernel(float* coefficients, float* dscale, float* dbias, const float* partials, const float* scale,
                           const float* mean, const float* inv_std, Strips strips) {
  const std::int64_t channels = strips.channels;
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * (kFinalThreads / kWarp) + threadIdx.x / kWarp;
  if (c >= channels) return;
  float sum = 0, product = 0;
  for (std::int64_t b = threadIdx.x % kWarp; b < strips.row_blocks; b += kWarp) {
    sum += partials[b * 2 * channels + c];
    product += partials[b * 2 * channels + channels + c];
  }
  sum = warp_sum(sum);
  product = warp_sum(product) * inv_std[c];
  if (threadIdx.x % kWarp != 0) return;
  const float slope = scale[c] * inv_std[c], n = static_cast<float>(strips.rows);
  coefficients[c] = mean[c];
  coefficients[channels + c] = slope;
  coefficients[2 * channels + c] = -slope * inv_std[c] * (product / n);
  coefficients[3 * channels + c] = -slope * (sum / n);
  if (dscale != nullptr) dscale[c] = product;
  if (dbias != nullptr) dbias[c] = sum;
}

template <typename T, int kSize>
__global__ void __launch_bounds__(kStripThreads, kBlocksThatWrite)
    gradient_kernel(T* dx, Upstream<T> from, const T* x, const float* coefficients, Strips strips) {
  const StripPlace<kSize> place = strip_place<kSize>(strips);
  float center[kSize] = {}, slope[kSize] = {}, curve[kSize] = {}, offset[kSize] = {};
  if (place.active) {
    const float* of_strip = coefficients + place.channel;
    load_floats(center, of_strip);
    load_floats(slope, of_strip + strips.channels);
    load_floats(curve, of_strip + 2 * strips.channels);
    load_floats(offset, of_strip + 3 * strips.channels);
  }
  for_each_chunk<kSize, kWrittenRows, true>(strips, place, [&](std::int64_t first, std::int64_t step, int count) {
    RegisterPack<T, kSize> g[kWrittenRows], packs[kWrittenRows];
    load_rows(packs, x, first, step, count);
    load_upstream(g, from, first, step, count);
    for (int r = 0; r < kWrittenRows; ++r) {
      if (r >= count) continue;
      float values[kSize];
      for (int i = 0; i < kSize; ++i)
        values[i] = slope[i] * element(g[r], i) + (curve[i] * (element(packs[r], i) - center[i]) + offset[i]);
      store_registers(dx + first + r * step, to_registers<T>(values));
    }
  });
}

// The last two launches; without dx only the first. partials [row_blocks, 2, channels]; coefficients: scratch.
template <typename T, int kSize>
void finish(T* dx, float* dscale, float* dbias, const Upstream<T>& from, const T* x, const float* partials,
            std::int64_t row_blocks, const float* scale, const float* mean, const float* inv_std, std::int64_t rows,
            std::int64_t channels, float* coefficients, Stream stream) {
  const Strips strips = strips_of(rows, channels, kSize, kWrittenRows, writing_blocks());
  Strips summed = strips;
  summed.row_blocks = row_blocks;
  launch(finish_gradient_kernel, dim3(static_cast<unsigned>(ceil_div(channels, kFinalThreads / kWarp))), dim3(kFinalThreads), 0,
         stream, coefficients, dscale, dbias, partials, scale, mean, inv_std, summed);
  if (dx == nullptr) return;
  launch(gradient_kernel<T, kSize>, grid_of(strips), dim3(kStripThreads), 0, stream, dx, from, x, coefficients, strips);
}

}  // namespace

void batch_norm_grad(void* dx, float* dscale, float* dbias, void* dz, const void* dy, const void* dy2,
                     const std::uint32_t* mask, const void* y, const void* x, const float* scale, const float* mean,
                     const float* inv_std, std::int64_t rows, std::int64_t channels, Element element, void* workspace,
                     Stream stream) {
  float* const coefficients = static_cast<float*>(workspace);
  float* const partials = coefficients + kCoefficients * channels;
  with_pack(element, channels, [&](auto zero, auto size) {
    using T = decltype(zero);
    const T* const from_x = static_cast<const T*>(x);
    Upstream<T> from = {static_cast<const T*>(dy), static_cast<const T*>(dy2), reinterpret_cast<const std::uint8_t*>(mask),
                        static_cast<const T*>(y)};
    const Strips reduced = strips_of(rows, channels, size(), kReducedRows, reducing_blocks());
    launch(gradient_sums_kernel<T, size()>, grid_of(reduced), dim3(kStripThreads), 0, stream, partials, static_cast<T*>(dz),
           from, from_x, mean, reduced);
    if (dz != nullptr) from = {static_cast<const T*>(dz), nullptr, nullptr, nullptr};
    finish<T, size()>(static_cast<T*>(dx), dscale, dbias, from, from_x, partials, reduced.row_blocks, scale, mean, inv_std,
                      rows, channels, coefficients, stream);
  });
}

void batch_norm_grad_of_sums(void* dx, float* dscale, float* dbias, const void* dz, const void* x, const float* sums,
                             const float* scale, const float* mean, const float* inv_std, std::int64_t rows,
                             std::int64_t channels, Element element, void* workspace, Stream stream) {
  with_pack(element, channels, [&](auto zero, auto size) {
    using T = decltype(zero);
    finish<T, size()>(static_cast<T*>(dx), dscale, dbias, {static_cast<const T*>(dz), nullptr, nullptr, nullptr},
                      static_cast<const T*>(x), sums, 1, scale, mean, inv_std, rows, channels, static_cast<float*>(workspace),
                      stream);
  });
}

}  // namespace epochbench::cuda
