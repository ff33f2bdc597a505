// Rotary position embedding (Su et al. 2021), parallel over rows: one pass, in which all heads of a position find its angles in
// cache.
#include <omp.h>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/rows.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

namespace {

// One head; sign: of the sines. y may be x.
#if defined(__AVX512F__)
void rotate(Real* y, const Real* x, const float* angles, float sign, std::int64_t half) {
  const Lanes direction = _mm512_set1_ps(sign);
  across_registers(half, [=](auto part, std::int64_t i) {
    const Lanes cosine = load(part, angles + i), sine = load(part, angles + half + i) * direction;
    const Lanes a = load(part, x + i), b = load(part, x + half + i);
    store(part, y + i, a * cosine - b * sine);
    store(part, y + half + i, b * cosine + a * sine);
  });
}
#else
void rotate(Real* y, const Real* x, const float* angles, float sign, std::int64_t half) {
#pragma omp simd
  for (std::int64_t i = 0; i < half; ++i) {
    const float cosine = angles[i], sine = angles[half + i] * sign, a = widen(x[i]), b = widen(x[half + i]);
    y[i] = narrow(a * cosine - b * sine);
    y[half + i] = narrow(b * cosine + a * sine);
  }
}
#endif

}  // namespace

void rotary(Real* y, const Real* x, const float* table, const RotaryShape& shape, int threads) {
  const std::int64_t rotated = shape.heads * shape.width, rest = shape.columns - rotated;
#pragma omp parallel num_threads(threads) if (shape.rows * shape.columns > kSerialElements)
  {
    const Range part = part_of(shape.rows, omp_get_thread_num(), omp_get_num_threads(), 1);
    for (std::int64_t r = part.begin; r < part.end; ++r) {
      Real* const to = y + r * shape.columns;
      const Real* const from = x + r * shape.columns;
      const float* const angles = table + r % shape.sequence * shape.width;
      for (std::int64_t first = 0; first < rotated; first += shape.width)
        rotate(to + first, from + first, angles, shape.inverse ? -1 : 1, shape.width / 2);
      if (rest > 0 && to != from) __builtin_memcpy(to + rotated, from + rotated, static_cast<std::size_t>(rest) * sizeof(Real));
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
