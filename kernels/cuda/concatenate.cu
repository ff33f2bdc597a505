// Puts rows side by side, and separates them again, by copying bytes in the largest unit that divides every part. A block
// processes kRows rows of one part.
#include "kernels/cuda/device_code.cuh"

namespace epochbench::cuda {
namespace {

constexpr int kThreads = 256, kRows = 32;

template <int kBytes>
struct alignas(kBytes) Unit {
  std::uint32_t parts[kBytes / 4];
};
template <>
struct Unit<2> {
  std::uint16_t half;
};

// One part: its address, its width and its first column in the whole, in units.
template <typename Pointer>
struct Part {
  Pointer at;
  int width, first;
};
// Avoids a non-constant index, which would put the parts in local memory.
template <typename Pointer>
__device__ Part<Pointer> part_of(const ChannelParts<Pointer>& parts, unsigned index) {
  Part<Pointer> part{};
#pragma unroll
  for (unsigned i = 0; i < kMaxChannelParts; ++i) {
    if (i < index) part.first += static_cast<int>(parts.channels[i]);
    if (i == index) {
      part.at = parts.part[i];
      part.width = static_cast<int>(parts.channels[i]);
    }
  }
  return part;
}

// width: of all parts together. The channels of the parts count units.
template <typename Copy, typename Pointer>
__device__ void copy_part(const ChannelParts<Pointer>& parts, std::int64_t rows, int width, Copy copy) {
  const Part<Pointer> part = part_of(parts, blockIdx.y);
  if (part.at == nullptr) return;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kRows;
  const int items = static_cast<int>(rows - first < kRows ? rows - first : kRows) * part.width;
  for (int item = static_cast<int>(threadIdx.x); item < items; item += kThreads) {
    const int row = item / part.width, column = item - row * part.width;
    copy(part.at, (first + row) * part.width + column, (first + row) * width + part.first + column);
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    concatenate_kernel(T* y, ChannelParts<const void*> x, std::int64_t rows, int width) {
  copy_part(x, rows, width,
            [=](const void* part, std::int64_t at, std::int64_t whole) { y[whole] = static_cast<const T*>(part)[at]; });
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    concatenate_grad_kernel(ChannelParts<void*> dx, const T* dy, std::int64_t rows, int width) {
  copy_part(dx, rows, width, [=](void* part, std::int64_t at, std::int64_t whole) { static_cast<T*>(part)[at] = dy[whole]; });
}

// run(Unit{}, parts with channels in units, width of all, grid) with the largest unit that divides every part.
template <typename Pointer, typename Run>
void with_unit(ChannelParts<Pointer> parts, std::int64_t rows, Element element, Run run) {
  if (rows == 0) return;
  const std::int64_t element_bytes = element == Element::f32 ? 4 : 2;
  std::int64_t unit = 16, width = 0;
  for (int i = 0; i < parts.count; ++i)
    while (parts.channels[i] * element_bytes % unit != 0) unit /= 2;
  for (int i = 0; i < parts.count; ++i) {
    parts.channels[i] = parts.channels[i] * element_bytes / unit;
    width += parts.channels[i];
  }
  const dim3 grid(static_cast<unsigned>(ceil_div(rows, kRows)), static_cast<unsigned>(parts.count));
  const auto with = [&](auto value) { run(value, parts, static_cast<int>(width), grid); };
  if (unit == 16)
    with(Unit<16>{});
  else if (unit == 8)
    with(Unit<8>{});
  else if (unit == 4)
    with(Unit<4>{});
  else
    with(Unit<2>{});
}

}  // namespace

void concatenate(void* y, const ChannelParts<const void*>& x, std::int64_t rows, Element element, Stream stream) {
  with_unit(x, rows, element, [&](auto value, const ChannelParts<const void*>& parts, int width, dim3 grid) {
    using T = decltype(value);
    launch(concatenate_kernel<T>, grid, dim3(kThreads), 0, stream, static_cast<T*>(y), parts, rows, width);
  });
}

void concatenate_grad(const ChannelParts<void*>& dx, const void* dy, std::int64_t rows, Element element, Stream stream) {
  with_unit(dx, rows, element, [&](auto value, const ChannelParts<void*>& parts, int width, dim3 grid) {
    using T = decltype(value);
    launch(concatenate_grad_kernel<T>, grid, dim3(kThreads), 0, stream, parts, static_cast<const T*>(dy), rows, width);
  });
}

}  // namespace epochbench::cuda
