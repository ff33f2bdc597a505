// Multiplies each channel of an image by its own factor, the last step of squeeze-and-excitation (Hu et al. 2018), with the
// gradient of what is squeezed and scaled, and stochastic depth (Huang et al. 2016), which multiplies whole samples.
#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/logistic.cuh"
#include "kernels/cuda/pack.cuh"
#include "kernels/cuda/philox.cuh"

namespace epochbench::cuda {
namespace {

// The index in [batch, channels] of the factors for the pack of channels `item`.
template <int kSize>
__device__ inline std::int64_t of_image_at(std::int64_t item, std::int64_t pixels, std::int64_t channels, std::int64_t packs) {
  const std::int64_t of_pixel = channels / kSize, of_image = of_pixel * pixels;
  // In 32 bits if possible: 64-bit divisions cost more than the memory traffic.
  if ((packs >> 32) == 0) {
    const std::int64_t image = static_cast<std::uint32_t>(item) / static_cast<std::uint32_t>(of_image);
    const std::int64_t pack = static_cast<std::uint32_t>(item) % static_cast<std::uint32_t>(of_pixel);
    return image * channels + pack * kSize;
  }
  return item / of_image * channels + item % of_pixel * kSize;
}

// A thread processes one pack of channels of one pixel.
template <typename T, int kSize>
__global__ void __launch_bounds__(kThreads)
    scale_channels_kernel(T* y, const T* x, const T* scale, std::int64_t pixels, std::int64_t channels, std::int64_t packs) {
  const std::int64_t item = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (item >= packs) return;
  const std::int64_t at = of_image_at<kSize>(item, pixels, channels, packs);
  const RegisterPack<T, kSize> from = load_registers<kSize>(x + item * kSize);
  const RegisterPack<T, kSize> by = load_registers<kSize>(scale + at);
  float values[kSize];
  for (int i = 0; i < kSize; ++i) values[i] = element(from, i) * element(by, i);
  store_registers(y + item * kSize, to_registers<T>(values));
}

// As above. share: 1 / pixels.
template <typename T, int kSize, bool kSilu>
__global__ void __launch_bounds__(kThreads)
    squeeze_excite_grad_kernel(T* dx, const T* dy, const T* scale, const T* dmean, const T* x, float share, std::int64_t pixels,
                               std::int64_t channels, std::int64_t packs) {
  const std::int64_t item = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (item >= packs) return;
  const std::int64_t at = of_image_at<kSize>(item, pixels, channels, packs);
  const RegisterPack<T, kSize> from = load_registers<kSize>(dy + item * kSize);
  RegisterPack<T, kSize> input = {};
  if constexpr (kSilu) input = load_registers<kSize>(x + item * kSize);
  const RegisterPack<T, kSize> by = load_registers<kSize>(scale + at), mean = load_registers<kSize>(dmean + at);
  float values[kSize];
  for (int i = 0; i < kSize; ++i) {
    values[i] = element(from, i) * element(by, i) + element(mean, i) * share;
    if constexpr (kSilu) values[i] *= silu_gradient<std::is_same_v<T, float>>(element(input, i));
  }
  store_registers(dx + item * kSize, to_registers<T>(values));
}

// The sums over the pixels of one image of dy x: a block processes kWarp packs of channels, and its warps divide the pixels.
constexpr int kGroups = 8, kPixelBatch = 4;  // pixels in flight per thread and tensor
constexpr int kSumBlocks = 2;                // per multiprocessor
template <typename T, int kSize>
__global__ void __launch_bounds__(kGroups* kWarp, kSumBlocks)
    scale_channels_grad_kernel(T* dscale, const T* dy, const T* x, std::int64_t pixels, std::int64_t channels,
                               unsigned strips) {
  SHARED_ARRAY(float, sums, kGroups* kWarp* kSize);  // [group, element, lane], so that lanes access different banks
  const unsigned image = blockIdx.x / strips;
  const int group = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t channel = (static_cast<std::int64_t>(blockIdx.x - image * strips) * kWarp + lane) * kSize;
  const std::int64_t first_element = image * pixels * channels + channel;
  float sum[kSize] = {};
  if (channel < channels)
    for (std::int64_t first = group; first < pixels; first += kGroups * kPixelBatch) {
      RegisterPack<T, kSize> of_dy[kPixelBatch] = {}, of_x[kPixelBatch] = {};
      for (int i = 0; i < kPixelBatch; ++i) {
        if (first + i * kGroups >= pixels) continue;
        of_dy[i] = load_registers<kSize>(dy + first_element + (first + i * kGroups) * channels);
        of_x[i] = load_registers<kSize>(x + first_element + (first + i * kGroups) * channels);
      }
      for (int i = 0; i < kPixelBatch; ++i)
        if (first + i * kGroups < pixels)
          for (int c = 0; c < kSize; ++c) sum[c] += element(of_dy[i], c) * element(of_x[i], c);
    }
  for (int c = 0; c < kSize; ++c) sums[(group * kSize + c) * kWarp + lane] = sum[c];
  __syncthreads();
  if (group > 0 || channel >= channels) return;
  float totals[kSize];
  for (int c = 0; c < kSize; ++c) {
    totals[c] = 0;
    for (int g = 0; g < kGroups; ++g) totals[c] += sums[(g * kSize + c) * kWarp + lane];
  }
  store_registers(dscale + image * channels + channel, to_registers<T>(totals));
}

// A dropped element is 0, even if it was a NaN.
struct KeepSamples {
  static constexpr int kInputs = 1;
  Dropout dropout;
  const std::int32_t* step;
  std::int64_t n;  // elements of a sample
  __device__ bool keeps(std::int64_t sample) const {
    sample += dropout.first;
    const DropoutWords random = dropout_words(dropout, *step, sample / 4);
    // By halves: an index, or code that the compiler turns into one, would put all words into local memory.
    const std::uint32_t even = sample % 4 < 2 ? random.word[0] : random.word[2];
    const std::uint32_t odd = sample % 4 < 2 ? random.word[1] : random.word[3];
    return (sample % 2 == 0 ? even : odd) >= dropout.threshold;
  }
  template <int kCount>
  __device__ void operator()(float (&out)[kCount], const float (&x)[kCount], const float (&)[kCount],
                             std::int64_t first) const {
    std::int64_t sample = first / n;
    bool kept = keeps(sample);
    for (int i = 0; i < kCount; ++i) {
      if ((first + i) / n != sample) kept = keeps(sample = (first + i) / n);
      out[i] = kept ? x[i] * dropout.scale : 0;
    }
  }
};

}  // namespace

void scale_channels(void* y, const void* x, const void* scale, std::int64_t batch, std::int64_t pixels, std::int64_t channels,
                    Element element, Stream stream) {
  with_pack(element, channels, [&](auto zero, auto size) {
    using T = decltype(zero);
    const std::int64_t packs = batch * pixels * channels / size();
    if (packs == 0) return;
    launch(scale_channels_kernel<T, size()>, dim3(static_cast<unsigned>(ceil_div(packs, kThreads))), dim3(kThreads), 0, stream,
           static_cast<T*>(y), static_cast<const T*>(x), static_cast<const T*>(scale), pixels, channels, packs);
  });
}

void scale_channels_grad(void* dscale, const void* dy, const void* x, std::int64_t batch, std::int64_t pixels,
                         std::int64_t channels, Element element, Stream stream) {
  with_pack(element, channels, [&](auto zero, auto size) {
    using T = decltype(zero);
    const std::int64_t strips = ceil_div(channels, size() * kWarp);
    if (batch == 0) return;
    launch(scale_channels_grad_kernel<T, size()>, dim3(static_cast<unsigned>(batch * strips)), dim3(kGroups * kWarp), 0, stream,
           static_cast<T*>(dscale), static_cast<const T*>(dy), static_cast<const T*>(x), pixels, channels,
           static_cast<unsigned>(strips));
  });
}

void squeeze_excite_grad(void* dx, const void* dy, const void* scale, const void* dmean, const void* x, std::int64_t batch,
                         std::int64_t pixels, std::int64_t channels, Element element, Stream stream) {
  with_pack(element, channels, [&](auto zero, auto size) {
    using T = decltype(zero);
    const std::int64_t packs = batch * pixels * channels / size();
    if (packs == 0) return;
    launch(x != nullptr ? squeeze_excite_grad_kernel<T, size(), true> : squeeze_excite_grad_kernel<T, size(), false>,
           dim3(static_cast<unsigned>(ceil_div(packs, kThreads))), dim3(kThreads), 0, stream, static_cast<T*>(dx),
           static_cast<const T*>(dy), static_cast<const T*>(scale), static_cast<const T*>(dmean), static_cast<const T*>(x),
           1 / static_cast<float>(pixels), pixels, channels, packs);
  });
}

void stochastic_depth(void* y, const void* x, const std::int32_t* step, const Dropout& dropout, std::int64_t batch,
                      std::int64_t n, Element element, Stream stream) {
  with_type(element, [&](auto zero) {
    elementwise<decltype(zero)>(y, x, nullptr, batch * n, KeepSamples{dropout, step, n}, stream);
  });
}

}  // namespace epochbench::cuda
