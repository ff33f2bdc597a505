// The gradient of the weight of a depthwise convolution: for each tap and channel, a sum over all pixels. One launch sums the
// pixels of each block, one adds the blocks. Both have a fixed order, and the number of blocks follows from the shape, so the
// result is the same on every device.
#include "kernels/cuda/register_pack.cuh"
#include "kernels/cuda/sum_partials.cuh"

namespace epochbench::cuda {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / kWarp;
constexpr int kBlocks = 2;                  // per multiprocessor: the sums of 25 taps take up to 128 registers per thread
constexpr int kStripWidth = 32;             // adjacent strips of channels: a warp, which reads one pixel
constexpr std::int64_t kMaxBlocks = 1024;   // enough for every device, and their sums fit its cache
constexpr std::int64_t kBlockPixels = 128;  // fewer do not pay for storing sums

struct Plan {
  std::int64_t pixels, tiles, parts, row_blocks;
};
// A thread keeps the sums of kSize channels for the taps of one part of the kernel.
Plan plan_of(const Conv2dShape& s, int size, std::int64_t taps_of_part) {
  Plan plan{};
  plan.pixels = s.batch * s.out_height * s.out_width;
  plan.tiles = ceil_div(s.channels, kStripWidth * size);
  plan.parts = s.kernel_height * s.kernel_width / taps_of_part;
  const std::int64_t most = kMaxBlocks / plan.tiles / plan.parts, wanted = ceil_div(plan.pixels, kBlockPixels);
  plan.row_blocks = wanted < most ? wanted : most > 1 ? most : 1;
  return plan;
}

// partials [row_blocks, taps, channels]. Block (tile of channels, part of the pixels, part of the kernel); a part of the kernel
// is kRows x kColumns taps, and parts follow one another as in a row of the kernel.
template <typename T, int kSize, int kRows, int kColumns>
__global__ void __launch_bounds__(kThreads, kBlocks)
    depthwise_sums_kernel(float* partials, const T* dy, const T* x, Conv2dShape s) {
  constexpr int kTaps = kRows * kColumns;
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const std::int64_t channel = (static_cast<std::int64_t>(blockIdx.x) * kStripWidth + lane) * kSize;
  const int parts_of_row = static_cast<int>(s.kernel_width) / kColumns, part = static_cast<int>(blockIdx.z);
  const int first_ky = part / parts_of_row * kRows, first_kx = part % parts_of_row * kColumns;
  const int width = static_cast<int>(s.width), height = static_cast<int>(s.height), stride = static_cast<int>(s.stride);
  const auto pixels = static_cast<unsigned>(s.batch * s.out_height * s.out_width);
  const auto out_width = static_cast<unsigned>(s.out_width), out_height = static_cast<unsigned>(s.out_height);
  float sum[kTaps][kSize] = {};
  if (channel < s.channels)
    for (unsigned pixel = blockIdx.y * kWarps + static_cast<unsigned>(warp); pixel < pixels; pixel += gridDim.y * kWarps) {
      const unsigned row = pixel / out_width, image = row / out_height;
      const int top = static_cast<int>(row - image * out_height) * stride - static_cast<int>(s.padding) + first_ky;
      const int left = static_cast<int>(pixel - row * out_width) * stride - static_cast<int>(s.padding) + first_kx;
      const RegisterPack<T, kSize> g = load_registers<kSize>(dy + pixel * s.channels + channel);
      const T* const from = x + image * s.height * s.width * s.channels + channel;
#pragma unroll
      for (int tap = 0; tap < kTaps; ++tap) {
        const int in_y = top + tap / kColumns, in_x = left + tap % kColumns;
        if (in_y < 0 || in_y >= height || in_x < 0 || in_x >= width) continue;
        const RegisterPack<T, kSize> values =
            load_registers<kSize>(from + (static_cast<std::int64_t>(in_y) * width + in_x) * s.channels);
        for (int i = 0; i < kSize; ++i) sum[tap][i] += element(g, i) * element(values, i);
      }
    }

  SHARED_ARRAY(float, of_warps, kWarps* kStripWidth* kSize);  // of one tap
  const std::int64_t taps = s.kernel_height * s.kernel_width;
#pragma unroll
  for (int tap = 0; tap < kTaps; ++tap) {
    if (tap > 0) __syncthreads();  // the sums of the tap before it may still be in use
    for (int i = 0; i < kSize; ++i) of_warps[(warp * kSize + i) * kStripWidth + lane] = sum[tap][i];
    __syncthreads();
    if (warp > 0 || channel >= s.channels) continue;
    float totals[kSize];
    for (int i = 0; i < kSize; ++i) {
      totals[i] = 0;
      for (int w = 0; w < kWarps; ++w) totals[i] += of_warps[(w * kSize + i) * kStripWidth + lane];
    }
    const std::int64_t at = (first_ky + tap / kColumns) * s.kernel_width + first_kx + tap % kColumns;
    store_registers(partials + (blockIdx.y * taps + at) * s.channels + channel, to_registers<float>(totals));
  }
}

template <typename T, int kSize, int kRows, int kColumns>
void sum_taps(T* dweight, const T* dy, const T* x, const Conv2dShape& s, float* partials, Stream stream) {
  const Plan plan = plan_of(s, kSize, kRows * kColumns);
  const std::int64_t sums = s.kernel_height * s.kernel_width * s.channels;
  launch(depthwise_sums_kernel<T, kSize, kRows, kColumns>,
         dim3(static_cast<unsigned>(plan.tiles), static_cast<unsigned>(plan.row_blocks), static_cast<unsigned>(plan.parts)),
         dim3(kThreads), 0, stream, partials, dy, x, s);
  sum_partials(dweight, partials, sums, sums, plan.row_blocks, stream);
}

// All taps of 3x3 and 5x5 in the registers of a thread, one row of 7x7; otherwise one tap.
template <typename T, int kSize>
void sum_taps(T* dweight, const T* dy, const T* x, const Conv2dShape& s, float* partials, Stream stream) {
  const std::int64_t kernel = s.kernel_height == s.kernel_width ? s.kernel_width : 0;
  if (kernel == 3) return sum_taps<T, kSize, 3, 3>(dweight, dy, x, s, partials, stream);
  if (kernel == 5) return sum_taps<T, kSize, 5, 5>(dweight, dy, x, s, partials, stream);
  if (kernel == 7) return sum_taps<T, kSize, 1, 7>(dweight, dy, x, s, partials, stream);
  sum_taps<T, kSize, 1, 1>(dweight, dy, x, s, partials, stream);
}

}  // namespace

// For the plan with the most blocks: all taps in one part.
std::size_t depthwise_conv2d_grad_weight_workspace_bytes(const Conv2dShape& shape) {
  const std::int64_t taps = shape.kernel_height * shape.kernel_width;
  const std::int64_t blocks = plan_of(shape, shape.channels % 2 == 0 ? 2 : 1, taps).row_blocks;
  return sizeof(float) * static_cast<std::size_t>(blocks * taps * shape.channels);
}

void depthwise_conv2d_grad_weight(void* dweight, const void* dy, const void* x, const Conv2dShape& shape, Element element,
                                  void* workspace, Stream stream) {
  with_type(element, [&](auto zero) {
    using T = decltype(zero);
    const auto run = [&](auto sum) {
      sum(static_cast<T*>(dweight), static_cast<const T*>(dy), static_cast<const T*>(x), shape, static_cast<float*>(workspace),
          stream);
    };
    if (shape.channels % 2 == 0)
      run(sum_taps<T, 2>);
    else
      run(sum_taps<T, 1>);
  });
}

}  // namespace epochbench::cuda
