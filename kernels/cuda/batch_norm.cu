// Batch normalization over rows: one launch computes the statistics, one the coefficients, one normalizes.
//
// Statistics: a thread sums deviations from a pivot (the mean of its first rows) and their squares. Means are stored as pivot +
// offset and merged by the formula of Chan, Golub and LeVeque (1983), so a mean much larger than the deviation costs no
// accuracy. With r rows in the pivot and n in all, the sum of squares about the pivot is at most 1 + n / r times that about the
// mean, and only if outliers coincide in the pivot.
#include "kernels/cuda/row_strips.cuh"

namespace epochbench::cuda {
namespace {

constexpr int kRows = 4;  // in flight per thread: 4 x 16 bytes x 768 threads are 48 KB, twice what hides the memory latency
constexpr int kBlocksThatWrite = 2;  // per multiprocessor: coefficients take up to 128 registers per thread
constexpr int kFinalThreads = 256;

// ---- Statistics ----

// Moments of some rows of a channel: the mean is pivot + offset; deviations is the sum of squared deviations.
struct Moments {
  float pivot = 0, offset = 0, deviations = 0;
};
// Merges b (n_b rows) into a (n_a rows). b or both may be empty.
__device__ inline void merge(Moments& a, float n_a, const Moments& b, float n_b) {
  if (n_b == 0) return;
  const float delta = (b.pivot - a.pivot) + (b.offset - a.offset), share = n_b / (n_a + n_b);
  a.offset += delta * share;
  a.deviations += b.deviations + delta * delta * (n_a * share);
}
__device__ inline Moments from_lane_below(const Moments& m, int offset) {
  return {__shfl_down_sync(kAllLanes, m.pivot, static_cast<unsigned>(offset)),
          __shfl_down_sync(kAllLanes, m.offset, static_cast<unsigned>(offset)),
          __shfl_down_sync(kAllLanes, m.deviations, static_cast<unsigned>(offset))};
}

// partials [row_blocks, 3, channels]: pivot, offset, deviations.
template <typename T, int kSize>
__global__ void __launch_bounds__(kStripThreads, kStripBlocks) moments_kernel(float* partials, const T* x, Strips strips) {
  const StripPlace<kSize> place = strip_place<kSize>(strips);
  float pivot[kSize] = {}, sum[kSize] = {}, squares[kSize] = {};
  int rows = 0;
  for_each_chunk<kSize, kRows, false>(strips, place, [&](std::int64_t first, std::int64_t step, int count) {
    RegisterPack<T, kSize> packs[kRows];
    load_rows(packs, x, first, step, count);
    if (rows == 0 && count > 0)
      for (int i = 0; i < kSize; ++i) {
        float total = 0;
        for (int r = 0; r < kRows; ++r) total += r < count ? element(packs[r], i) : 0;
        pivot[i] = total / static_cast<float>(count);
      }
    rows += count;
    for (int i = 0; i < kSize; ++i) {
      float of_rows = 0, squares_of_rows = 0;
      for (int r = 0; r < kRows; ++r) {
        const float d = r < count ? element(packs[r], i) - pivot[i] : 0;
        of_rows += d;
        squares_of_rows += d * d;
      }
      sum[i] += of_rows;
      squares[i] += squares_of_rows;
    }
  });

  Moments moments[kSize];
  for (int i = 0; i < kSize; ++i) {
    const float offset = rows > 0 ? sum[i] / static_cast<float>(rows) : 0, spread = squares[i] - sum[i] * offset;
    moments[i] = {pivot[i], offset, spread < 0 ? 0 : spread};
  }
  float n = static_cast<float>(rows);
  for (int offset = kWarp / 2; offset >= strips.width; offset /= 2) {
    const float n_below = __shfl_down_sync(kAllLanes, n, static_cast<unsigned>(offset));
    for (int i = 0; i < kSize; ++i) {
      const Moments below = from_lane_below(moments[i], offset);
      merge(moments[i], n, below, n_below);
    }
    n += n_below;
  }

  constexpr int kWarps = kStripThreads / kWarp, kTile = kStripWidth * kSize;
  SHARED_ARRAY(float, of_warps, kWarps * 3 * kTile);
  SHARED_ARRAY(float, rows_of_warps, kWarps* kStripWidth);
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp, warp = thread / kWarp, width = strips.width;
  if (lane < width) {
    float* mine = of_warps + warp * 3 * kTile + lane * kSize;
    for (int i = 0; i < kSize; ++i) {
      mine[i] = moments[i].pivot;
      mine[kTile + i] = moments[i].offset;
      mine[2 * kTile + i] = moments[i].deviations;
    }
    rows_of_warps[warp * kStripWidth + lane] = n;
  }
  __syncthreads();
  const std::int64_t channel = static_cast<std::int64_t>(blockIdx.x) * width * kSize + thread;
  if (thread >= width * kSize || channel >= strips.channels) return;
  Moments total;
  float n_total = 0;
  for (int w = 0; w < kWarps; ++w) {
    const float* of_warp = of_warps + w * 3 * kTile + thread;
    const float n_warp = rows_of_warps[w * kStripWidth + thread / kSize];
    const Moments next = {of_warp[0], of_warp[kTile], of_warp[2 * kTile]};
    if (w == 0)
      total = next;
    else
      merge(total, n_total, next, n_warp);
    n_total += n_warp;
  }
  float* out = partials + static_cast<std::int64_t>(blockIdx.y) * 3 * strips.channels + channel;
  out[0] = total.pivot;
  out[strips.channels] = total.offset;
  out[2 * strips.channels] = total.deviations;
}

// Sums that a convolution computed while it wrote x: of x - pivot and of its square [2, channels]. Squares about a pivot other
// than the mean lose accuracy as 1 + (mean - pivot)^2 / variance grows; the running mean is close to the mean.
struct Sums {
  const float *sums, *pivot;
  __device__ Moments moments(std::int64_t c, std::int64_t channels, float rows) const {
    const float offset = sums[c] / rows, spread = sums[channels + c] - sums[c] * offset;
    return {pivot[c], offset, spread < 0 ? 0 : spread};
  }
};

struct Statistics {  // what a training step stores; each may be null
  float *mean, *inv_std, *running_mean, *running_variance;
};

// The moments of all rows, in lane 0 of a warp.
__device__ inline Moments merged(const float* partials, std::int64_t c, const Strips& strips) {
  const std::int64_t channels = strips.channels;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  Moments moments;
  float n = 0;
  for (std::int64_t b = lane; b < strips.row_blocks; b += kWarp) {
    const float* from = partials + b * 3 * channels + c;
    const Moments next = {from[0], from[channels], from[2 * channels]};
    const float n_next = static_cast<float>(rows_of_block(strips, b));
    if (b == lane)
      moments = next;
    else
      merge(moments, n, next, n_next);
    n += n_next;
  }
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    const float n_below = __shfl_down_sync(kAllLanes, n, static_cast<unsigned>(offset));
    const Moments below = from_lane_below(moments, offset);
    merge(moments, n, below, n_below);
    n += n_below;
  }
  return moments;
}

// coefficients [3, channels]: y = (x - center) * slope + offset. One warp per channel. partials: null if there are sums.
__global__ void __launch_bounds__(kFinalThreads)
    finish_moments_kernel(float* coefficients, Statistics to, const float* partials, Sums from, const float* scale,
                          const float* bias, double epsilon, double momentum, Strips strips) {
  const std::int64_t channels = strips.channels;
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * (kFinalThreads / kWarp) + threadIdx.x / kWarp;
  if (c >= channels) return;
  Moments moments;
  if (partials != nullptr) moments = merged(partials, c, strips);
  if (threadIdx.x % kWarp != 0) return;
  if (partials == nullptr) moments = from.moments(c, channels, static_cast<float>(strips.rows));
  const double rows = static_cast<double>(strips.rows), mean = static_cast<double>(moments.pivot) + moments.offset;
  const double inverse = 1 / sqrt(moments.deviations / rows + epsilon), slope = inverse * scale[c];
  const float center = static_cast<float>(mean);
  coefficients[c] = center;
  coefficients[channels + c] = static_cast<float>(slope);
  coefficients[2 * channels + c] = static_cast<float>(bias[c] + (center - mean) * slope);  // center is the rounded mean
  if (to.mean != nullptr) to.mean[c] = center;
  if (to.inv_std != nullptr) to.inv_std[c] = static_cast<float>(inverse);
  if (to.running_mean != nullptr)
    to.running_mean[c] = static_cast<float>((1 - momentum) * to.running_mean[c] + momentum * mean);
  if (to.running_variance != nullptr) {
    const double unbiased = rows > 1 ? moments.deviations / (rows - 1) : 0;
    to.running_variance[c] = static_cast<float>((1 - momentum) * to.running_variance[c] + momentum * unbiased);
  }
}

// ---- y = activation((x - center) * slope + offset [+ shortcut]) ----

// Coefficients per channel: from finish_moments_kernel (variance null), or for inference.
struct Normalizer {
  const float *center, *slope, *offset, *variance;
  float epsilon;
  // The slopes of the channels from c on.
  template <int kSize>
  __device__ void load_slopes(float (&slopes)[kSize], std::int64_t c) const {
    load_floats(slopes, slope + c);
    if (variance == nullptr) return;
    float variances[kSize];
    load_floats(variances, variance + c);
    for (int i = 0; i < kSize; ++i) slopes[i] /= sqrtf(variances[i] + epsilon);
  }
};

__device__ inline float normalized(float x, float center, float slope, float offset, float shortcut, Activation activation) {
  const float value = (x - center) * slope + offset + shortcut;
  if (activation.kind != Activation::none && value < 0) return 0;
  return activation.kind == Activation::relu6 && value > kSix ? kSix : value;
}
// Whether the gradient passes through y.
__device__ inline bool passes(float y, Activation activation) {
  return y > 0 && (activation.kind != Activation::relu6 || y < kSix);
}

template <typename T, int kSize>
__global__ void __launch_bounds__(kStripThreads, kBlocksThatWrite)
    normalize_kernel(T* y, std::uint8_t* mask, const T* x, Normalizer by, const T* shortcut, Activation activation,
                     Strips strips) {
  const StripPlace<kSize> place = strip_place<kSize>(strips);
  float center[kSize] = {}, slope[kSize] = {}, offset[kSize] = {};
  if (place.active) {
    load_floats(center, by.center + place.channel);
    by.load_slopes(slope, place.channel);
    load_floats(offset, by.offset + place.channel);
  }
  for_each_chunk<kSize, kRows, true>(strips, place, [&](std::int64_t first, std::int64_t step, int count) {
    RegisterPack<T, kSize> packs[kRows], added[kRows] = {};
    load_rows(packs, x, first, step, count);
    if (shortcut != nullptr) load_rows(added, shortcut, first, step, count);
    unsigned above[kRows] = {};
#pragma unroll
    for (int r = 0; r < kRows; ++r) {  // otherwise the rows would be in local memory
      if (r >= count) continue;
      float values[kSize];
      for (int i = 0; i < kSize; ++i)
        values[i] = normalized(element(packs[r], i), center[i], slope[i], offset[i], element(added[r], i), activation);
      packs[r] = to_registers<T>(values);
      store_registers(y + first + r * step, packs[r]);
      for (int i = 0; i < kSize; ++i) above[r] |= (passes(element(packs[r], i), activation) ? 1u : 0u) << i;
    }
    if (mask == nullptr) return;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      // Writes single bytes of the little-endian words. In strips of 4 elements, two adjacent strips of one row share a byte.
      if constexpr (kSize == 4) above[r] |= __shfl_down_sync(kAllLanes, above[r], 1) << 4;
      if (r < count && (kSize == 8 || threadIdx.x % 2 == 0)) mask[(first + r * step) / 8] = static_cast<std::uint8_t>(above[r]);
    }
  });
}

// For unaligned rows: one element per thread, and one word of the mask per warp.
constexpr int kElementThreads = 256;
template <typename T>
__global__ void __launch_bounds__(kElementThreads)
    normalize_elements_kernel(T* y, std::uint32_t* mask, const T* x, Normalizer by, const T* shortcut, Activation activation,
                              std::int64_t n, std::int64_t channels) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kElementThreads + threadIdx.x;
  bool above = false;
  if (i < n) {
    const std::int64_t c = i % channels;
    const float added = shortcut != nullptr ? to_float(shortcut[i]) : 0;
    float slope[1];
    by.load_slopes(slope, c);
    y[i] = from_float<T>(normalized(to_float(x[i]), by.center[c], slope[0], by.offset[c], added, activation));
    above = passes(to_float(y[i]), activation);
  }
  const unsigned word = __ballot_sync(kAllLanes, above);
  if (mask != nullptr && i < n && i % kWarp == 0) mask[i / kWarp] = word;
}

void normalize(void* y, std::uint32_t* mask, const void* x, const Normalizer& by, const void* shortcut, std::int64_t rows,
               std::int64_t channels, Activation activation, Element element, Stream stream) {
  with_pack(element, channels, [&](auto zero, auto size) {
    using T = decltype(zero);
    if constexpr (size() > 1) {
      if (mask == nullptr || channels % 8 == 0) {
        const Strips strips = strips_of(rows, channels, size(), kRows, writing_blocks());
        launch(normalize_kernel<T, size()>, grid_of(strips), dim3(kStripThreads), 0, stream, static_cast<T*>(y),
               reinterpret_cast<std::uint8_t*>(mask), static_cast<const T*>(x), by, static_cast<const T*>(shortcut), activation,
               strips);
        return;
      }
    }
    const std::int64_t n = rows * channels;
    launch(normalize_elements_kernel<T>, dim3(static_cast<unsigned>(ceil_div(n, kElementThreads))), dim3(kElementThreads), 0,
           stream, static_cast<T*>(y), mask, static_cast<const T*>(x), by, static_cast<const T*>(shortcut), activation, n,
           channels);
  });
}

}  // namespace

namespace {

// The last two launches. coefficients: scratch.
void finish(void* y, std::uint32_t* mask, const Statistics& statistics, float* coefficients, const float* partials,
            const Sums& sums, const void* x, const float* scale, const float* bias, const void* shortcut, const Strips& strips,
            double epsilon, double momentum, Activation activation, Element element, Stream stream) {
  const std::int64_t channels = strips.channels;
  launch(finish_moments_kernel, dim3(static_cast<unsigned>(ceil_div(channels, kFinalThreads / kWarp))), dim3(kFinalThreads), 0,
         stream, coefficients, statistics, partials, sums, scale, bias, epsilon, momentum, strips);
  const Normalizer by = {coefficients, coefficients + channels, coefficients + 2 * channels, nullptr, 0};
  normalize(y, mask, x, by, shortcut, strips.rows, channels, activation, element, stream);
}

}  // namespace

void batch_norm(void* y, std::uint32_t* mask, float* mean, float* inv_std, float* running_mean, float* running_variance,
                const void* x, const float* scale, const float* bias, const void* shortcut, std::int64_t rows,
                std::int64_t channels, double epsilon, double momentum, Activation activation, Element element, void* workspace,
                Stream stream) {
  float* const coefficients = static_cast<float*>(workspace);
  float* const partials = coefficients + kCoefficients * channels;
  with_pack(element, channels, [&](auto zero, auto size) {
    using T = decltype(zero);
    const Strips strips = strips_of(rows, channels, size(), kRows, reducing_blocks());
    launch(moments_kernel<T, size()>, grid_of(strips), dim3(kStripThreads), 0, stream, partials, static_cast<const T*>(x),
           strips);
    finish(y, mask, {mean, inv_std, running_mean, running_variance}, coefficients, partials, {}, x, scale, bias, shortcut,
           strips, epsilon, momentum, activation, element, stream);
  });
}

void batch_norm_of_sums(void* y, std::uint32_t* mask, float* mean, float* inv_std, float* running_mean, float* running_variance,
                        const void* x, const float* sums, const float* scale, const float* bias, const void* shortcut,
                        std::int64_t rows, std::int64_t channels, double epsilon, double momentum, Activation activation,
                        Element element, void* workspace, Stream stream) {
  Strips strips{};
  strips.rows = rows;
  strips.channels = channels;
  finish(y, mask, {mean, inv_std, running_mean, running_variance}, static_cast<float*>(workspace), nullptr,
         {sums, running_mean}, x, scale, bias, shortcut, strips, epsilon, momentum, activation, element, stream);
}

void batch_norm_inference(void* y, const void* x, const float* scale, const float* bias, const float* running_mean,
                          const float* running_variance, const void* shortcut, std::int64_t rows, std::int64_t channels,
                          double epsilon, Activation activation, Element element, Stream stream) {
  const Normalizer by = {running_mean, scale, bias, running_variance, static_cast<float>(epsilon)};
  normalize(y, nullptr, x, by, shortcut, rows, channels, activation, element, stream);
}

}  // namespace epochbench::cuda
