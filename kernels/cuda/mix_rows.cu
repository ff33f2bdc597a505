// Samples mixed with their neighbors (Zhang et al., "mixup", 2018).
#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/pack.cuh"

namespace epochbench::cuda {
namespace {

// A thread processes one pack of both rows of a pair, so that each is read once. A row has `per_row` packs; a last row without
// a neighbor forms a pair by itself.
template <typename T, int kSize>
__global__ void __launch_bounds__(kThreads)
    mix_rows_kernel(T* y, const T* x, const float* share, std::int64_t rows, std::int64_t per_row, std::int64_t packs) {
  const std::int64_t item = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (item >= packs) return;
  // In 32 bits if possible: 64-bit divisions cost more than the memory traffic.
  const std::int64_t pair =
      (packs >> 32) == 0 ? static_cast<std::uint32_t>(item) / static_cast<std::uint32_t>(per_row) : item / per_row;
  const std::int64_t first = (2 * pair * per_row + (item - pair * per_row)) * kSize, second = first + per_row * kSize;
  const RegisterPack<T, kSize> of_first = load_registers<kSize>(x + first);
  if (2 * pair + 1 == rows) {
    store_registers(y + first, of_first);
    return;
  }
  const RegisterPack<T, kSize> of_second = load_registers<kSize>(x + second);
  const float a = share[2 * pair], b = share[2 * pair + 1];
  float to_first[kSize], to_second[kSize];
  for (int i = 0; i < kSize; ++i) {
    const float one = element(of_first, i), two = element(of_second, i);
    to_first[i] = two + a * (one - two);
    to_second[i] = one + b * (two - one);
  }
  store_registers(y + first, to_registers<T>(to_first));
  store_registers(y + second, to_registers<T>(to_second));
}

}  // namespace

void mix_rows(void* y, const void* x, const float* share, std::int64_t rows, std::int64_t n, Element element, Stream stream) {
  with_pack(element, n, [&](auto zero, auto size) {
    using T = decltype(zero);
    const std::int64_t per_row = n / size(), packs = ceil_div(rows, std::int64_t{2}) * per_row;
    if (packs == 0) return;
    launch(mix_rows_kernel<T, size()>, dim3(static_cast<unsigned>(ceil_div(packs, kThreads))), dim3(kThreads), 0, stream,
           static_cast<T*>(y), static_cast<const T*>(x), share, rows, per_row, packs);
  });
}

}  // namespace epochbench::cuda
