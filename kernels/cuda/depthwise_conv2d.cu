// Depthwise convolution, channels last, and the gradient of its input. A block processes a row of pixels; a thread processes a
// pack of channels of kTile neighboring pixels, so that an input that several taps read is loaded once, and neighboring threads
// access neighboring memory. No sum depends on the order of threads. Also transposes weights to and from cuDNN's layout.
#include "kernels/cuda/pack.cuh"
#include "kernels/cuda/register_pack.cuh"

namespace epochbench::cuda {
namespace {

constexpr int kMaxThreads = 256;
constexpr int kTileBlocks = 2, kPixelBlocks = 4;  // per multiprocessor: sums and taps take up to 128 registers per thread
constexpr int kTile = 4;

// As many threads as a row of `items` needs, in whole warps.
unsigned threads_of(std::int64_t items) {
  return static_cast<unsigned>(items < kMaxThreads ? ceil_div(items, kWarp) * kWarp : kMaxThreads);
}

// y = x * weight with a kernel of kKernel x kKernel and stride kStride. kFlip: with the taps in reverse order, as for the
// gradient with stride 1.
template <typename T, int kSize, int kKernel, int kStride, bool kFlip>
__global__ void __launch_bounds__(kMaxThreads, kTileBlocks)
    depthwise_tile_kernel(T* y, const T* x, const T* weight, Conv2dShape s) {
  constexpr int kColumns = (kTile - 1) * kStride + kKernel;
  const int channels = static_cast<int>(s.channels), width = static_cast<int>(s.width), height = static_cast<int>(s.height);
  const int out_width = static_cast<int>(s.out_width), packs = channels / kSize;
  const int tiles = (out_width + kTile - 1) / kTile;
  const std::int64_t image = blockIdx.x / s.out_height;
  const int top = static_cast<int>(blockIdx.x - image * s.out_height) * kStride - static_cast<int>(s.padding);  // of the kernel
  x += image * height * width * s.channels;
  for (int item = static_cast<int>(threadIdx.x); item < tiles * packs; item += static_cast<int>(blockDim.x)) {
    const int tile = item / packs, channel = (item - tile * packs) * kSize;
    const int left = tile * kTile * kStride - static_cast<int>(s.padding);
    float sum[kTile][kSize] = {};
    for (int ky = 0; ky < kKernel; ++ky) {
      const int in_y = top + ky;
      if (in_y < 0 || in_y >= height) continue;
      const T* const taps = weight + (kFlip ? kKernel - 1 - ky : ky) * kKernel * channels + channel;
      const T* const from = x + static_cast<std::int64_t>(in_y) * width * channels + channel;
      RegisterPack<T, kSize> w[kKernel];
#pragma unroll
      for (int kx = 0; kx < kKernel; ++kx) w[kx] = load_registers<kSize>(taps + (kFlip ? kKernel - 1 - kx : kx) * channels);
#pragma unroll
      for (int column = 0; column < kColumns; ++column) {
        const int in_x = left + column;
        if (in_x < 0 || in_x >= width) continue;
        const RegisterPack<T, kSize> values = load_registers<kSize>(from + static_cast<std::int64_t>(in_x) * channels);
#pragma unroll
        for (int p = 0; p < kTile; ++p) {
          const int kx = column - p * kStride;
          if (kx < 0 || kx >= kKernel) continue;
          for (int i = 0; i < kSize; ++i) sum[p][i] += element(values, i) * element(w[kx], i);
        }
      }
    }
#pragma unroll
    for (int p = 0; p < kTile; ++p) {
      const int out_x = tile * kTile + p;
      if (out_x < out_width)
        store_registers(y + (blockIdx.x * s.out_width + out_x) * s.channels + channel, to_registers<T>(sum[p]));
    }
  }
}

// The same for every size, one pixel per thread.
template <typename T, int kSize>
__global__ void __launch_bounds__(kMaxThreads, kPixelBlocks)
    depthwise_pixel_kernel(T* y, const T* x, const T* weight, Conv2dShape s) {
  const int packs = static_cast<int>(s.channels) / kSize, stride = static_cast<int>(s.stride);
  const std::int64_t image = blockIdx.x / s.out_height;
  const int top = static_cast<int>(blockIdx.x - image * s.out_height) * stride - static_cast<int>(s.padding);
  x += image * s.height * s.width * s.channels;
  for (int item = static_cast<int>(threadIdx.x); item < s.out_width * packs; item += static_cast<int>(blockDim.x)) {
    const int out_x = item / packs, channel = (item - out_x * packs) * kSize;
    const int left = out_x * stride - static_cast<int>(s.padding);
    float sum[kSize] = {};
    for (int ky = 0; ky < s.kernel_height; ++ky)
      for (int kx = 0; kx < s.kernel_width; ++kx) {
        if (top + ky < 0 || top + ky >= s.height || left + kx < 0 || left + kx >= s.width) continue;
        const RegisterPack<T, kSize> values =
            load_registers<kSize>(x + ((top + ky) * s.width + left + kx) * s.channels + channel);
        const RegisterPack<T, kSize> w = load_registers<kSize>(weight + (ky * s.kernel_width + kx) * s.channels + channel);
        for (int i = 0; i < kSize; ++i) sum[i] += element(values, i) * element(w, i);
      }
    store_registers(y + (blockIdx.x * s.out_width + out_x) * s.channels + channel, to_registers<T>(sum));
  }
}

// A pixel of dx is read by the taps k with k = pixel + padding modulo the stride, at output (pixel + padding - k) / stride.
template <typename T, int kSize>
__global__ void __launch_bounds__(kMaxThreads, kPixelBlocks)
    depthwise_grad_kernel(T* dx, const T* dy, const T* weight, Conv2dShape s) {
  const int packs = static_cast<int>(s.channels) / kSize, stride = static_cast<int>(s.stride);
  const int padding = static_cast<int>(s.padding);
  const std::int64_t image = blockIdx.x / s.height;
  const int reach_y = static_cast<int>(blockIdx.x - image * s.height) + padding;
  dy += image * s.out_height * s.out_width * s.channels;
  for (int item = static_cast<int>(threadIdx.x); item < s.width * packs; item += static_cast<int>(blockDim.x)) {
    const int in_x = item / packs, channel = (item - in_x * packs) * kSize, reach_x = in_x + padding;
    float sum[kSize] = {};
    for (int ky = reach_y % stride; ky < s.kernel_height && ky <= reach_y; ky += stride)
      for (int kx = reach_x % stride; kx < s.kernel_width && kx <= reach_x; kx += stride) {
        const int out_y = (reach_y - ky) / stride, out_x = (reach_x - kx) / stride;
        if (out_y >= s.out_height || out_x >= s.out_width) continue;
        const RegisterPack<T, kSize> g = load_registers<kSize>(dy + (out_y * s.out_width + out_x) * s.channels + channel);
        const RegisterPack<T, kSize> w = load_registers<kSize>(weight + (ky * s.kernel_width + kx) * s.channels + channel);
        for (int i = 0; i < kSize; ++i) sum[i] += element(g, i) * element(w, i);
      }
    store_registers(dx + (blockIdx.x * s.width + in_x) * s.channels + channel, to_registers<T>(sum));
  }
}

// The kernel that writes rows of y for this shape.
template <typename T, int kSize, bool kFlip>
auto kernel_of(const Conv2dShape& s) -> void (*)(T*, const T*, const T*, Conv2dShape) {
  if constexpr (kSize > 1)
    if (s.kernel_height == s.kernel_width && s.stride <= (kFlip ? 1 : 2)) {
      const bool two = s.stride == 2;
      switch (s.kernel_width) {
        case 3:
          return two     ? depthwise_tile_kernel < T, kSize, 3, kFlip ? 1 : 2,
                 kFlip > : depthwise_tile_kernel<T, kSize, 3, 1, kFlip>;
        case 5:
          return two     ? depthwise_tile_kernel < T, kSize, 5, kFlip ? 1 : 2,
                 kFlip > : depthwise_tile_kernel<T, kSize, 5, 1, kFlip>;
        case 7:
          return two     ? depthwise_tile_kernel < T, kSize, 7, kFlip ? 1 : 2,
                 kFlip > : depthwise_tile_kernel<T, kSize, 7, 1, kFlip>;
        default:
          break;
      }
    }
  return kFlip ? depthwise_grad_kernel<T, kSize> : depthwise_pixel_kernel<T, kSize>;
}

// For a few thousand elements, which are in the L2 cache: neighboring threads write adjacent elements.
template <typename T>
__global__ void __launch_bounds__(kMaxThreads) transpose_kernel(T* y, const T* x, std::int64_t rows, std::int64_t columns) {
  const std::int64_t item = static_cast<std::int64_t>(blockIdx.x) * kMaxThreads + threadIdx.x;
  if (item < rows * columns) y[item] = x[item % rows * columns + item / rows];
}

}  // namespace

void depthwise_conv2d(void* y, const void* x, const void* weight, const Conv2dShape& shape, Element element, Stream stream) {
  if (shape.batch == 0) return;
  with_pack(element, shape.channels, [&](auto zero, auto size) {
    using T = decltype(zero);
    launch(kernel_of<T, size(), false>(shape), dim3(static_cast<unsigned>(shape.batch * shape.out_height)),
           dim3(threads_of(shape.out_width * shape.channels / size())), 0, stream, static_cast<T*>(y), static_cast<const T*>(x),
           static_cast<const T*>(weight), shape);
  });
}

void depthwise_conv2d_grad_input(void* dx, const void* dy, const void* weight, const Conv2dShape& shape, Element element,
                                 Stream stream) {
  if (shape.batch == 0) return;
  with_pack(element, shape.channels, [&](auto zero, auto size) {
    using T = decltype(zero);
    const auto kernel = kernel_of<T, size(), true>(shape);
    Conv2dShape s = shape;
    if (kernel != depthwise_grad_kernel<T, size()>) {  // with stride 1, a convolution of dy by the flipped weight
      s.padding = s.kernel_width - 1 - s.padding;
      s.height = shape.out_height;
      s.width = shape.out_width;
      s.out_height = shape.height;
      s.out_width = shape.width;
    }
    launch(kernel, dim3(static_cast<unsigned>(shape.batch * shape.height)),
           dim3(threads_of(shape.width * shape.channels / size())), 0, stream, static_cast<T*>(dx), static_cast<const T*>(dy),
           static_cast<const T*>(weight), s);
  });
}

void transpose(void* y, const void* x, std::int64_t rows, std::int64_t columns, Element element, Stream stream) {
  if (rows * columns == 0) return;
  with_type(element, [&](auto zero) {
    using T = decltype(zero);
    launch(transpose_kernel<T>, dim3(static_cast<unsigned>(ceil_div(rows * columns, kMaxThreads))), dim3(kMaxThreads), 0,
           stream, static_cast<T*>(y), static_cast<const T*>(x), rows, columns);
  });
}

}  // namespace epochbench::cuda
