// The mean over windows, channels last, and its gradient. A block processes a row of pixels; each thread processes a pack of
// channels, so that neighboring threads access neighboring memory. The gradient gathers: an element of dx reads the windows
// that cover it, in ascending order, so no sum depends on the order of threads.
#include "kernels/cuda/pool_window.cuh"
#include "kernels/cuda/register_pack.cuh"

namespace epochbench::cuda {
namespace {

constexpr int kBlocks = 4;  // per multiprocessor

// The divisor along one axis of the sum over a window of `window` pixels that starts at `corner`.
__device__ inline int divisor(int corner, int window, int extent, bool zeros) {
  return zeros ? window : min(corner + window, extent) - max(corner, 0);
}

// kWindow: the window if the compiler knows it; otherwise 0.
template <typename T, int kSize, int kWindow>
__global__ void __launch_bounds__(kPoolThreads, kBlocks) average_pool_kernel(T* y, const T* x, PoolShape s) {
  const int window = kWindow > 0 ? kWindow : static_cast<int>(s.window);
  const int width = static_cast<int>(s.width), height = static_cast<int>(s.height), stride = static_cast<int>(s.stride);
  const int packs = static_cast<int>(s.channels) / kSize;
  const std::int64_t image = blockIdx.x / s.out_height;
  const int top = static_cast<int>(blockIdx.x - image * s.out_height) * stride - static_cast<int>(s.padding);
  const int rows = divisor(top, window, height, s.zeros);
  x += image * height * width * s.channels;
  for (int item = static_cast<int>(threadIdx.x); item < s.out_width * packs; item += static_cast<int>(blockDim.x)) {
    const int out_x = item / packs, channel = (item - out_x * packs) * kSize;
    const int left = out_x * stride - static_cast<int>(s.padding);
    float sum[kSize] = {};
    const auto add = [&](int in_y, int in_x) {
      if (in_y < 0 || in_y >= height || in_x < 0 || in_x >= width) return;
      const RegisterPack<T, kSize> values =
          load_registers<kSize>(x + (static_cast<std::int64_t>(in_y) * width + in_x) * s.channels + channel);
      for (int i = 0; i < kSize; ++i) sum[i] += element(values, i);
    };
    if constexpr (kWindow > 0) {
#pragma unroll 1
      for (int ky = 0; ky < kWindow; ++ky)  // one row's loads at a time: those of all rows do not fit the registers
#pragma unroll
        for (int kx = 0; kx < kWindow; ++kx) add(top + ky, left + kx);
    } else {
      for (int ky = 0; ky < window; ++ky)
        for (int kx = 0; kx < window; ++kx) add(top + ky, left + kx);
    }
    const float share = 1 / static_cast<float>(rows * divisor(left, window, width, s.zeros));
    for (int i = 0; i < kSize; ++i) sum[i] *= share;
    store_registers(y + (blockIdx.x * s.out_width + out_x) * s.channels + channel, to_registers<T>(sum));
  }
}

// kCover: the maximum number of windows along one axis that cover a pixel, if the compiler knows it; otherwise 0.
template <typename T, int kSize, int kCover>
__global__ void __launch_bounds__(kPoolThreads, kBlocks) average_pool_grad_kernel(T* dx, const T* dy, PoolShape s) {
  const int window = static_cast<int>(s.window), stride = static_cast<int>(s.stride), padding = static_cast<int>(s.padding);
  const int width = static_cast<int>(s.width), height = static_cast<int>(s.height);
  const int out_width = static_cast<int>(s.out_width), packs = static_cast<int>(s.channels) / kSize;
  const std::int64_t image = blockIdx.x / s.height;
  const Cover rows =
      cover(static_cast<int>(blockIdx.x - image * s.height), window, stride, padding, static_cast<int>(s.out_height));
  dy += image * s.out_height * s.out_width * s.channels;
  for (int item = static_cast<int>(threadIdx.x); item < width * packs; item += static_cast<int>(blockDim.x)) {
    const int in_x = item / packs, channel = (item - in_x * packs) * kSize;
    const Cover columns = cover(in_x, window, stride, padding, out_width);
    float sum[kSize] = {};
    const auto add = [&](int out_y, int out_x) {
      if (out_y > rows.last || out_x > columns.last) return;
      const int of_rows = divisor(out_y * stride - padding, window, height, s.zeros);
      const float share = 1 / static_cast<float>(of_rows * divisor(out_x * stride - padding, window, width, s.zeros));
      const RegisterPack<T, kSize> gradient =
          load_registers<kSize>(dy + (static_cast<std::int64_t>(out_y) * out_width + out_x) * s.channels + channel);
      for (int i = 0; i < kSize; ++i) sum[i] += element(gradient, i) * share;
    };
    if constexpr (kCover > 0) {
#pragma unroll
      for (int i = 0; i < kCover * kCover; ++i) add(rows.first + i / kCover, columns.first + i % kCover);
    } else {
      for (int out_y = rows.first; out_y <= rows.last; ++out_y)
        for (int out_x = columns.first; out_x <= columns.last; ++out_x) add(out_y, out_x);
    }
    store_registers(dx + (blockIdx.x * s.width + in_x) * s.channels + channel, to_registers<T>(sum));
  }
}

}  // namespace

void average_pool(void* y, const void* x, const PoolShape& shape, Element element, Stream stream) {
  if (shape.batch == 0) return;
  with_pack(element, shape.channels, [&](auto zero, auto size) {
    using T = decltype(zero);
    constexpr int kSize = size();
    launch(shape.window == 3 ? average_pool_kernel<T, kSize, 3> : average_pool_kernel<T, kSize, 0>,
           dim3(static_cast<unsigned>(shape.batch * shape.out_height)),
           dim3(pool_threads(shape.out_width * shape.channels / kSize)), 0, stream, static_cast<T*>(y),
           static_cast<const T*>(x), shape);
  });
}

void average_pool_grad(void* dx, const void* dy, const PoolShape& shape, Element element, Stream stream) {
  if (shape.batch == 0) return;
  with_pack(element, shape.channels, [&](auto zero, auto size) {
    using T = decltype(zero);
    constexpr int kSize = size();
    const bool three = ceil_div(shape.window, shape.stride) == 3;
    launch(three ? average_pool_grad_kernel<T, kSize, 3> : average_pool_grad_kernel<T, kSize, 0>,
           dim3(static_cast<unsigned>(shape.batch * shape.height)), dim3(pool_threads(shape.width * shape.channels / kSize)), 0,
           stream, static_cast<T*>(dx), static_cast<const T*>(dy), shape);
  });
}

}  // namespace epochbench::cuda
