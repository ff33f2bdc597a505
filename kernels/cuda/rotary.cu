// Rotary position embedding (Su et al. 2021): a thread rotates a pack of pairs, or copies two packs of unrotated columns.
#include "kernels/cuda/register_pack.cuh"

namespace epochbench::cuda {
namespace {

constexpr int kRotaryThreads = 256;

// Sizes in packs; Index holds `count`, the number of threads with work: per row, `rotated` and then `kept` pairs of packs.
template <typename Index>
struct RotaryPacks {
  Index sequence, half, columns, rotated, kept, count;
};

template <typename T, int kSize, typename Index>
__global__ void __launch_bounds__(kRotaryThreads)
    rotary_kernel(T* y, const T* x, const float* __restrict__ table, RotaryPacks<Index> s, float sign) {
  const Index at = static_cast<Index>(blockIdx.x) * kRotaryThreads + threadIdx.x;
  if (at >= s.count) return;
  const Index pairs = s.rotated + s.kept, row = at / pairs, pair = at % pairs;
  if (pair >= s.rotated) {  // two packs; the second is beyond the row if their number is odd
    const Index column = 2 * s.rotated + 2 * (pair - s.rotated);
    const std::int64_t first = (static_cast<std::int64_t>(row) * s.columns + column) * kSize;
    const RegisterPack<T, kSize> pack = load_registers<kSize>(x + first);
    if (column + 1 < s.columns) store_registers(y + first + kSize, load_registers<kSize>(x + first + kSize));
    store_registers(y + first, pack);
    return;
  }
  const Index head = pair / s.half, i = pair % s.half;
  const std::int64_t first = (static_cast<std::int64_t>(row) * s.columns + head * 2 * s.half + i) * kSize;
  const std::int64_t second = first + static_cast<std::int64_t>(s.half) * kSize;
  const std::int64_t angle = (static_cast<std::int64_t>(row % s.sequence) * 2 * s.half + i) * kSize;
  const RegisterPack<T, kSize> of_a = load_registers<kSize>(x + first), of_b = load_registers<kSize>(x + second);
  float cosine[kSize], sine[kSize], a[kSize], b[kSize];
  load_floats(cosine, table + angle);
  load_floats(sine, table + angle + static_cast<std::int64_t>(s.half) * kSize);
  for (int j = 0; j < kSize; ++j) {
    const float of_sine = sine[j] * sign, from_a = element(of_a, j), from_b = element(of_b, j);
    a[j] = from_a * cosine[j] - from_b * of_sine;
    b[j] = from_b * cosine[j] + from_a * of_sine;
  }
  store_registers(y + first, to_registers<T>(a));
  store_registers(y + second, to_registers<T>(b));
}

}  // namespace

void rotary(void* y, const void* x, const float* table, const RotaryShape& shape, Element element, Stream stream) {
  // If the unrotated columns are whole packs too, every row begins at a multiple of a pack.
  const std::int64_t half = shape.width / 2, extent = shape.columns % half == 0 ? half : 1;
  with_pack(element, extent, [&](auto zero, auto size) {
    using T = decltype(zero);
    const std::int64_t packs = half / size(), columns = shape.columns / size(), rotated = shape.heads * packs;
    const std::int64_t kept = x == y ? 0 : (columns - 2 * rotated + 1) / 2, count = shape.rows * (rotated + kept);
    if (count == 0) return;
    const dim3 grid(static_cast<unsigned>(ceil_div(count, kRotaryThreads)));
    const auto run = [&]<typename Index>(Index) {
      const auto index = [](std::int64_t value) { return static_cast<Index>(value); };
      launch(rotary_kernel<T, size(), Index>, grid, dim3(kRotaryThreads), 0, stream, static_cast<T*>(y),
             static_cast<const T*>(x), table,
             RotaryPacks<Index>{index(shape.sequence), index(packs), index(columns), index(rotated), index(kept), index(count)},
             shape.inverse ? -1.0F : 1.0F);
    };
    if (count < std::int64_t{1} << 31)  // 32-bit divisions take a quarter of the time
      run(std::uint32_t{});
    else
      run(std::int64_t{});
  });
}

}  // namespace epochbench::cuda
