// What layer normalization and its gradient compute from one row.
#pragma once

#include "kernels/cpu/row_sum.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

struct Sums {
  double first, second;
};

// The sums of d and of d * d, where d = x - pivot.
#if EPOCHBENCH_BF16_LANES
static inline Sums deviations(const Real* x, float pivot, std::int64_t n) {
  Sums total{0, 0};
  const Lanes center = _mm512_set1_ps(pivot), zero = _mm512_setzero_ps();
  for (std::int64_t begin = 0; begin < n; begin += kSumChunk) {
    Lanes sums[2] = {zero, zero}, squares[2] = {zero, zero};
    for_each_register(x + begin, min_of(kSumChunk, n - begin), [&](int which, auto part, Lanes value) {
      const Lanes d = only(part, value - center);
      sums[which] += d;
      squares[which] = _mm512_fmadd_ps(d, d, squares[which]);
    });
    total.first += sum_in(sums[0] + sums[1]);
    total.second += sum_in(squares[0] + squares[1]);
  }
  return total;
}
#else
static inline Sums deviations(const Real* x, float pivot, std::int64_t n) {
  Sums total{0, 0};
  for (std::int64_t begin = 0; begin < n; begin += kSumChunk) {
    const std::int64_t end = min_of(begin + kSumChunk, n);
    float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum, squares)
    for (std::int64_t i = begin; i < end; ++i) {
      const float d = widen(x[i]) - pivot;
      sum += d;
      squares += d * d;
    }
    total.first += sum;
    total.second += squares;
  }
  return total;
}
#endif

// y = ((x - center) * slope + offset) * scale + bias
#if EPOCHBENCH_BF16_LANES
static inline void normalize_row(Real* y, const Real* x, const float* scale, const float* bias, float center, float slope,
                                 float offset, std::int64_t n) {
  const Lanes subtrahend = _mm512_set1_ps(center), factor = _mm512_set1_ps(slope), summand = _mm512_set1_ps(offset);
  across_registers(n, [=](auto part, std::int64_t i) {
    const Lanes normalized = _mm512_fmadd_ps(load(part, x + i) - subtrahend, factor, summand);
    store(part, y + i, _mm512_fmadd_ps(normalized, load(part, scale + i), load(part, bias + i)));
  });
}
#else
static inline void normalize_row(Real* y, const Real* x, const float* scale, const float* bias, float center, float slope,
                                 float offset, std::int64_t n) {
  narrow_each(y, n, [=](std::int64_t i) { return ((widen(x[i]) - center) * slope + offset) * scale[i] + bias[i]; });
}
#endif

// Adds dy to dbias and dy * normalized x to dscale, and returns the row's sums of g and of g * normalized x, where g = dy *
// scale.
static inline Sums sum_gradients(float* dscale, float* dbias, const Real* dy, const Real* x, const float* scale, float mean,
                                 float inv_std, std::int64_t n) {
  Sums total{0, 0};
  for (std::int64_t begin = 0; begin < n; begin += kSumChunk) {
    const std::int64_t end = min_of(begin + kSumChunk, n);
    float sum = 0, product = 0;
#pragma omp simd reduction(+ : sum, product)
    for (std::int64_t i = begin; i < end; ++i) {
      const float d = widen(dy[i]), normalized = (widen(x[i]) - mean) * inv_std, upstream = d * normalized;
      dbias[i] += d;
      dscale[i] += upstream;
      sum += d * scale[i];
      product += upstream * scale[i];
    }
    total.first += sum;
    total.second += product;
  }
  return total;
}

// dx = slope * dy * scale + curve * (x - mean) + offset
#if EPOCHBENCH_BF16_LANES
static inline void apply_gradients(Real* dx, const Real* dy, const Real* x, const float* scale, float mean, float slope,
                                   float curve, float offset, std::int64_t n) {
  const Lanes center = _mm512_set1_ps(mean), factor = _mm512_set1_ps(slope);
  const Lanes of_x = _mm512_set1_ps(curve), summand = _mm512_set1_ps(offset);
  across_registers(n, [=](auto part, std::int64_t i) {
    const Lanes rest = _mm512_fmadd_ps(of_x, load(part, x + i) - center, summand);
    store(part, dx + i, _mm512_fmadd_ps(factor, load(part, dy + i) * load(part, scale + i), rest));
  });
}
#else
static inline void apply_gradients(Real* dx, const Real* dy, const Real* x, const float* scale, float mean, float slope,
                                   float curve, float offset, std::int64_t n) {
  narrow_each(dx, n,
              [=](std::int64_t i) { return slope * (widen(dy[i]) * scale[i]) + (curve * (widen(x[i]) - mean) + offset); });
}
#endif

// Adds block to total and clears block.
static inline void flush(double* total, float* block, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    total[i] += block[i];
    block[i] = 0;
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
