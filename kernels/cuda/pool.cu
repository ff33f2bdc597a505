// Pooling over windows and over the whole image, channels last. A block processes a row of pixels; each thread processes a pack
// of channels, so that neighboring threads access neighboring memory. The gradient of the windows gathers: an element of dx
// reads the windows that cover it, in ascending order, so no sum depends on the order of threads.
#include "kernels/cuda/pack.cuh"
#include "kernels/cuda/pool_window.cuh"

namespace epochbench::cuda {
namespace {

constexpr int kBlocks = 4;  // per multiprocessor, of the kernels over windows

// A position k of the window is compared only if it is inside the image, but always loaded, from the nearest pixel inside, so
// that all loads of a window are in flight together. A NaN wins over every number; among equal maxima the first wins. kWindow:
// the window if the compiler knows it; otherwise 0.
template <typename T, int kSize, int kWindow>
__global__ void __launch_bounds__(kPoolThreads, kBlocks) max_pool_kernel(T* y, std::uint8_t* index, const T* x, PoolShape s) {
  const int window = kWindow > 0 ? kWindow : static_cast<int>(s.window);
  const int width = static_cast<int>(s.width), height = static_cast<int>(s.height), stride = static_cast<int>(s.stride);
  const int packs = static_cast<int>(s.channels) / kSize;
  const std::int64_t image = blockIdx.x / s.out_height;
  const int top = static_cast<int>(blockIdx.x - image * s.out_height) * stride - static_cast<int>(s.padding);
  x += image * height * width * s.channels;
  for (int item = threadIdx.x; item < s.out_width * packs; item += blockDim.x) {
    const int out_x = item / packs, channel = (item - out_x * packs) * kSize;
    const int left = out_x * stride - static_cast<int>(s.padding);
    float best[kSize] = {};
    Pack<std::uint8_t, kSize> position = {};
    bool found = false;
    // Several positions at a time if the window is not a constant.
    constexpr int kBatch = kWindow > 0 ? kWindow * kWindow : 4;
    for (int first = 0; first < window * window; first += kBatch) {
      Pack<T, kSize> packs_of[kBatch];
      for (int i = 0; i < kBatch; ++i) {
        const int k = min(first + i, window * window - 1), in_y = top + k / window, in_x = left + k % window;
        const int near_y = in_y < 0 ? 0 : min(in_y, height - 1), near_x = in_x < 0 ? 0 : min(in_x, width - 1);
        packs_of[i] = load_pack<kSize>(x + (static_cast<std::int64_t>(near_y) * width + near_x) * s.channels + channel);
      }
      for (int i = 0; i < kBatch; ++i) {
        const int k = first + i, in_y = top + k / window, in_x = left + k % window;
        if (k >= window * window || in_y < 0 || in_y >= height || in_x < 0 || in_x >= width) continue;
        for (int c = 0; c < kSize; ++c) {
          const float value = to_float(packs_of[i].value[c]);
          if (found && !(value > best[c]) && value == value) continue;
          best[c] = value;
          position.value[c] = static_cast<std::uint8_t>(k);
        }
        found = true;
      }
    }
    const std::int64_t at = (blockIdx.x * s.out_width + out_x) * s.channels + channel;
    Pack<T, kSize> out;
    for (int c = 0; c < kSize; ++c) out.value[c] = from_float<T>(best[c]);
    store_pack(y + at, out);
    if (index != nullptr) store_pack(index + at, position);
  }
}

// kCover: the maximum number of windows along one axis that cover a pixel, if the compiler knows it; otherwise 0. Loads as in
// max_pool.
template <typename T, int kSize, int kCover>
__global__ void __launch_bounds__(kPoolThreads, kBlocks)
    max_pool_grad_kernel(T* dx, const T* dy, const std::uint8_t* index, PoolShape s) {
  const int window = static_cast<int>(s.window), stride = static_cast<int>(s.stride), padding = static_cast<int>(s.padding);
  const int out_height = static_cast<int>(s.out_height), out_width = static_cast<int>(s.out_width);
  const int packs = static_cast<int>(s.channels) / kSize;
  const std::int64_t image = blockIdx.x / s.height, first_out = image * out_height * out_width * s.channels;
  const int in_y = static_cast<int>(blockIdx.x - image * s.height);
  const Cover rows = cover(in_y, window, stride, padding, out_height);
  for (int item = threadIdx.x; item < s.width * packs; item += blockDim.x) {
    const int in_x = item / packs, channel = (item - in_x * packs) * kSize;
    const Cover columns = cover(in_x, window, stride, padding, out_width);
    float sum[kSize] = {};
    const auto at = [&](int out_y, int out_x) {
      return first_out + (static_cast<std::int64_t>(out_y) * out_width + out_x) * s.channels + channel;
    };
    const auto add = [&](int out_y, int out_x, const Pack<std::uint8_t, kSize>& position, const Pack<T, kSize>& gradient) {
      const int k = (in_y + padding - out_y * stride) * window + in_x + padding - out_x * stride;
      for (int c = 0; c < kSize; ++c) sum[c] += position.value[c] == k ? to_float(gradient.value[c]) : 0;
    };
    if constexpr (kCover > 0) {
      Pack<std::uint8_t, kSize> positions[kCover * kCover];
      Pack<T, kSize> gradients[kCover * kCover];
      for (int i = 0; i < kCover * kCover; ++i) {
        const std::int64_t from =
            at(min(rows.first + i / kCover, out_height - 1), min(columns.first + i % kCover, out_width - 1));
        positions[i] = load_pack<kSize>(index + from);
        gradients[i] = load_pack<kSize>(dy + from);
      }
      for (int i = 0; i < kCover * kCover; ++i) {
        const int out_y = rows.first + i / kCover, out_x = columns.first + i % kCover;
        if (out_y <= rows.last && out_x <= columns.last) add(out_y, out_x, positions[i], gradients[i]);
      }
    } else {
      for (int out_y = rows.first; out_y <= rows.last; ++out_y)
        for (int out_x = columns.first; out_x <= columns.last; ++out_x)
          add(out_y, out_x, load_pack<kSize>(index + at(out_y, out_x)), load_pack<kSize>(dy + at(out_y, out_x)));
    }
    Pack<T, kSize> out;
    for (int c = 0; c < kSize; ++c) out.value[c] = from_float<T>(sum[c]);
    store_pack(dx + (blockIdx.x * s.width + in_x) * s.channels + channel, out);
  }
}

// Mean over the whole image: a block processes kWarp packs of channels of one image, and its kGroups warps divide the pixels.
constexpr int kGroups = 8, kPixelBatch = 8;  // pixels in flight per thread
constexpr int kAverageThreads = kGroups * kWarp;
constexpr int kAverageBlocks = 2;  // per multiprocessor: 64 KB in flight
struct ImagePart {
  std::int64_t image, channel;
};
template <int kSize>
__device__ ImagePart image_part(std::int64_t channels) {
  // In 32 bits: after a 64-bit division the compiler splits one 16-byte store into four.
  const auto strips = static_cast<unsigned>((channels / kSize + kWarp - 1) / kWarp);
  const unsigned image = blockIdx.x / strips;
  return {image, static_cast<std::int64_t>((blockIdx.x - image * strips) * kWarp + threadIdx.x % kWarp) * kSize};
}

template <typename T, int kSize>
__global__ void __launch_bounds__(kAverageThreads, kAverageBlocks)
    global_average_pool_kernel(T* y, const T* x, std::int64_t pixels, std::int64_t channels) {
  constexpr int kSums = kGroups * kWarp * kSize;
  SHARED_ARRAY(float, sums, kSums);  // [group, element, lane], so that lanes access different banks
  const auto [image, channel] = image_part<kSize>(channels);
  const int group = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const T* from = x + image * pixels * channels + channel;
  float sum[kSize] = {};
  if (channel < channels)
    for (std::int64_t first = group; first < pixels; first += kGroups * kPixelBatch) {
      Pack<T, kSize> packs[kPixelBatch];
      for (int i = 0; i < kPixelBatch; ++i)
        if (first + i * kGroups < pixels) packs[i] = load_pack<kSize>(from + (first + i * kGroups) * channels);
      for (int i = 0; i < kPixelBatch; ++i)
        if (first + i * kGroups < pixels)
          for (int c = 0; c < kSize; ++c) sum[c] += to_float(packs[i].value[c]);
    }
  for (int c = 0; c < kSize; ++c) sums[(group * kSize + c) * kWarp + lane] = sum[c];
  __syncthreads();
  if (group > 0 || channel >= channels) return;
  Pack<T, kSize> out;
  for (int c = 0; c < kSize; ++c) {
    float total = 0;
    for (int g = 0; g < kGroups; ++g) total += sums[(g * kSize + c) * kWarp + lane];
    out.value[c] = from_float<T>(total / static_cast<float>(pixels));
  }
  store_pack(y + image * channels + channel, out);
}

template <typename T, int kSize>
__global__ void __launch_bounds__(kAverageThreads)
    global_average_pool_grad_kernel(T* dx, const T* dy, std::int64_t pixels, std::int64_t channels) {
  const auto [image, channel] = image_part<kSize>(channels);
  if (channel >= channels) return;
  Pack<T, kSize> pack = load_pack<kSize>(dy + image * channels + channel);
  for (int c = 0; c < kSize; ++c) pack.value[c] = from_float<T>(to_float(pack.value[c]) / static_cast<float>(pixels));
  T* to = dx + image * pixels * channels + channel;
  for (std::int64_t pixel = threadIdx.x / kWarp; pixel < pixels; pixel += kGroups) store_pack(to + pixel * channels, pack);
}

}  // namespace

void max_pool(void* y, std::uint8_t* index, const void* x, const PoolShape& shape, Element element, Stream stream) {
  if (shape.batch == 0) return;
  with_pack(element, shape.channels, [&](auto zero, auto size) {
    using T = decltype(zero);
    constexpr int kSize = size();
    const auto run = [&](auto kernel) {
      launch(kernel, dim3(static_cast<unsigned>(shape.batch * shape.out_height)),
             dim3(pool_threads(shape.out_width * shape.channels / kSize)), 0, stream, static_cast<T*>(y), index,
             static_cast<const T*>(x), shape);
    };
    if (shape.window == 2)
      run(max_pool_kernel<T, kSize, 2>);
    else if (shape.window == 3)
      run(max_pool_kernel<T, kSize, 3>);
    else
      run(max_pool_kernel<T, kSize, 0>);
  });
}

void max_pool_grad(void* dx, const void* dy, const std::uint8_t* index, const PoolShape& shape, Element element,
                   Stream stream) {
  if (shape.batch == 0) return;
  with_pack(element, shape.channels, [&](auto zero, auto size) {
    using T = decltype(zero);
    constexpr int kSize = size();
    const auto run = [&](auto kernel) {
      launch(kernel, dim3(static_cast<unsigned>(shape.batch * shape.height)),
             dim3(pool_threads(shape.width * shape.channels / kSize)), 0, stream, static_cast<T*>(dx),
             static_cast<const T*>(dy), index, shape);
    };
    const std::int64_t covering = ceil_div(shape.window, shape.stride);
    if (covering == 1)
      run(max_pool_grad_kernel<T, kSize, 1>);
    else if (covering == 2)
      run(max_pool_grad_kernel<T, kSize, 2>);
    else
      run(max_pool_grad_kernel<T, kSize, 0>);
  });
}

void global_average_pool(void* y, const void* x, std::int64_t batch, std::int64_t pixels, std::int64_t channels,
                         Element element, Stream stream) {
  if (batch == 0) return;
  with_pack(element, channels, [&](auto zero, auto size) {
    using T = decltype(zero);
    launch(global_average_pool_kernel<T, size()>, dim3(static_cast<unsigned>(batch * ceil_div(channels / size(), kWarp))),
           dim3(kAverageThreads), 0, stream, static_cast<T*>(y), static_cast<const T*>(x), pixels, channels);
  });
}

void global_average_pool_grad(void* dx, const void* dy, std::int64_t batch, std::int64_t pixels, std::int64_t channels,
                              Element element, Stream stream) {
  if (batch == 0) return;
  with_pack(element, channels, [&](auto zero, auto size) {
    using T = decltype(zero);
    launch(global_average_pool_grad_kernel<T, size()>, dim3(static_cast<unsigned>(batch * ceil_div(channels / size(), kWarp))),
           dim3(kAverageThreads), 0, stream, static_cast<T*>(dx), static_cast<const T*>(dy), pixels, channels);
  });
}

}  // namespace epochbench::cuda
