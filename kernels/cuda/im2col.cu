// Convolution as a matrix product: copies the windows of x into the rows of a matrix, and adds the gradient of such rows back
// into an image. For layers without a cuDNN plan, so simple rather than fast: memory holds each pixel once per window.
#include "kernels/cuda/pack.cuh"

namespace epochbench::cuda {
namespace {

constexpr int kMaxThreads = 256;

// A block processes a row of output pixels. Threads along x keep their columns and iterate over the pixels along y, so that the
// position in the window is computed once instead of once per pixel.
template <typename T, int kSize>
__global__ void __launch_bounds__(kMaxThreads) im2col_kernel(T* columns, const T* x, Conv2dShape s) {
  const int packs = static_cast<int>(s.channels) / kSize, kernel_width = static_cast<int>(s.kernel_width);
  const int row_packs = static_cast<int>(s.kernel_height) * kernel_width * packs;
  const std::int64_t image = blockIdx.x / s.out_height, out_y = blockIdx.x - image * s.out_height;
  columns += blockIdx.x * s.out_width * row_packs * kSize;
  x += image * s.height * s.width * s.channels;
  for (int column = threadIdx.x; column < row_packs; column += blockDim.x) {
    const int place = column / packs, channel = (column - place * packs) * kSize;
    const int kernel_y = place / kernel_width, kernel_x = place - kernel_y * kernel_width;
    const std::int64_t in_y = out_y * s.stride + kernel_y - s.padding;
    for (std::int64_t out_x = threadIdx.y; out_x < s.out_width; out_x += blockDim.y) {
      const std::int64_t in_x = out_x * s.stride + kernel_x - s.padding;
      Pack<T, kSize> pack;
      if (in_y >= 0 && in_y < s.height && in_x >= 0 && in_x < s.width)
        pack = load_pack<kSize>(x + (in_y * s.width + in_x) * s.channels + channel);
      else
        for (int i = 0; i < kSize; ++i) pack.value[i] = from_float<T>(0);
      store_pack(columns + (out_x * row_packs + column) * kSize, pack);
    }
  }
}

// A block processes a row of pixels of dx; each element gathers the windows that contain it, in ascending order.
template <typename T, int kSize>
__global__ void __launch_bounds__(kMaxThreads) col2im_kernel(T* dx, const T* columns, Conv2dShape s) {
  const int packs = static_cast<int>(s.channels) / kSize;
  const std::int64_t row_length = s.kernel_height * s.kernel_width * s.channels;
  const std::int64_t image = blockIdx.x / s.height, in_y = blockIdx.x - image * s.height;
  columns += image * s.out_height * s.out_width * row_length;
  dx += blockIdx.x * s.width * s.channels;
  const auto first_of = [&](std::int64_t reach, std::int64_t kernel) {  // the first window that extends so far
    return reach < kernel ? 0 : (reach - kernel) / s.stride + 1;
  };
  const std::int64_t reach_y = in_y + s.padding, first_y = first_of(reach_y, s.kernel_height);
  for (int item = threadIdx.x; item < s.width * packs; item += blockDim.x) {
    const int in_x = item / packs, channel = (item - in_x * packs) * kSize;
    const std::int64_t reach_x = in_x + s.padding, first_x = first_of(reach_x, s.kernel_width);
    float sum[kSize] = {};
    for (std::int64_t out_y = first_y; out_y < s.out_height && out_y * s.stride <= reach_y; ++out_y)
      for (std::int64_t out_x = first_x; out_x < s.out_width && out_x * s.stride <= reach_x; ++out_x) {
        const std::int64_t place = (reach_y - out_y * s.stride) * s.kernel_width + reach_x - out_x * s.stride;
        const Pack<T, kSize> pack =
            load_pack<kSize>(columns + (out_y * s.out_width + out_x) * row_length + place * s.channels + channel);
        for (int i = 0; i < kSize; ++i) sum[i] += to_float(pack.value[i]);
      }
    Pack<T, kSize> out;
    for (int i = 0; i < kSize; ++i) out.value[i] = from_float<T>(sum[i]);
    store_pack(dx + in_x * s.channels + channel, out);
  }
}

unsigned block_threads(std::int64_t packs) { return static_cast<unsigned>(packs < kMaxThreads ? packs : kMaxThreads); }

}  // namespace

void im2col(void* columns, const void* x, const Conv2dShape& shape, std::int64_t first_image, std::int64_t images,
            Element element, Stream stream) {
  if (images == 0) return;
  with_pack(element, shape.channels, [&](auto zero, auto size) {
    using T = decltype(zero);
    const unsigned along_x = block_threads(shape.kernel_height * shape.kernel_width * shape.channels / size());
    launch(im2col_kernel<T, size()>, dim3(static_cast<unsigned>(images * shape.out_height)),
           dim3(along_x, kMaxThreads / along_x), 0, stream, static_cast<T*>(columns),
           static_cast<const T*>(x) + first_image * shape.height * shape.width * shape.channels, shape);
  });
}

void col2im(void* dx, const void* columns, const Conv2dShape& shape, std::int64_t first_image, std::int64_t images,
            Element element, Stream stream) {
  if (images == 0) return;
  with_pack(element, shape.channels, [&](auto zero, auto size) {
    using T = decltype(zero);
    launch(col2im_kernel<T, size()>, dim3(static_cast<unsigned>(images * shape.height)),
           dim3(block_threads(shape.width * shape.channels / size())), 0, stream,
           static_cast<T*>(dx) + first_image * shape.height * shape.width * shape.channels, static_cast<const T*>(columns),
           shape);
  });
}

}  // namespace epochbench::cuda
