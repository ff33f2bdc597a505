// Element-wise kernels, the bias and its gradient. All are bound by memory bandwidth.
#include <omp.h>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/rows.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

namespace {

void relu_part(Real* y, const Real* x, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const float value = widen(x[i]);
    y[i] = narrow(value < 0 ? 0 : value);  // a NaN stays NaN, so that divergence is visible
  }
}

void relu_grad_part(Real* dx, const Real* dy, const Real* y, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) dx[i] = narrow(widen(y[i]) > 0 ? widen(dy[i]) : 0);
}

void add_part(Real* y, const Real* a, const Real* b, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] = narrow(widen(a[i]) + widen(b[i]));
}

// bias [width], over n elements of rows of `width` elements.
void add_bias(Real* y, const Real* x, const Real* bias, std::int64_t n, std::int64_t width) {
  for_each_in_rows(n, width, [=](std::int64_t at, std::int64_t i) { y[at] = narrow(widen(x[at]) + widen(bias[i])); });
}

// sum [width] += the sum over rows of x, n elements in rows of `width`. Sums four rows in float, then adds them in double.
void sum_rows(double* sum, const Real* x, std::int64_t n, std::int64_t width) {
  const Fours fours = fours_of(n, width);
  for (std::int64_t at = 0; at < fours.stride; at += width) {
    const Real *x0 = x + at, *x1 = x0 + fours.stride, *x2 = x1 + fours.stride, *x3 = x2 + fours.stride;
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) sum[i] += (widen(x0[i]) + widen(x1[i])) + (widen(x2[i]) + widen(x3[i]));
  }
  for (std::int64_t at = fours.rest; at < n; at += width) {
    const std::int64_t length = min_of(width, n - at);
#pragma omp simd
    for (std::int64_t i = 0; i < length; ++i) sum[i] += widen(x[at + i]);
  }
}

}  // namespace

void relu(Real* y, const Real* x, std::int64_t n, int threads) {
#pragma omp parallel num_threads(threads) if (n > kSerialElements)
  {
    const auto [begin, end] = part_of(n, omp_get_thread_num(), omp_get_num_threads(), 16);
    relu_part(y + begin, x + begin, end - begin);
  }
}

void relu_grad(Real* dx, const Real* dy, const Real* y, std::int64_t n, int threads) {
#pragma omp parallel num_threads(threads) if (n > kSerialElements)
  {
    const auto [begin, end] = part_of(n, omp_get_thread_num(), omp_get_num_threads(), 16);
    relu_grad_part(dx + begin, dy + begin, y + begin, end - begin);
  }
}

void add(Real* y, const Real* a, const Real* b, std::int64_t n, int threads) {
#pragma omp parallel num_threads(threads) if (n > kSerialElements)
  {
    const auto [begin, end] = part_of(n, omp_get_thread_num(), omp_get_num_threads(), 16);
    add_part(y + begin, a + begin, b + begin, end - begin);
  }
}

void accumulate(float* sum, const Real* x, float factor, bool first, std::int64_t n, int threads) {
#pragma omp parallel num_threads(threads) if (n > kSerialElements)
  {
    const Range part = part_of(n, omp_get_thread_num(), omp_get_num_threads(), 16);
    if (first)
#pragma omp simd
      for (std::int64_t i = part.begin; i < part.end; ++i) sum[i] = factor * widen(x[i]);
    else
#pragma omp simd
      for (std::int64_t i = part.begin; i < part.end; ++i) sum[i] += factor * widen(x[i]);
  }
}

void bias_add(Real* y, const Real* x, const Real* bias, std::int64_t rows, std::int64_t channels, int threads) {
  const std::int64_t lanes = lanes_of(channels), width = lanes * channels;
  Real repeated[kMaxWideRow];
  const Real* wide_bias = bias;
  if (lanes > 1) {
    repeat(repeated, bias, channels, lanes, {0, channels});
    wide_bias = repeated;
  }
#pragma omp parallel num_threads(threads) if (rows * channels > kSerialElements)
  {
    const Range part = part_of(rows, omp_get_thread_num(), omp_get_num_threads(), lanes);
    add_bias(y + part.begin * channels, x + part.begin * channels, wide_bias, (part.end - part.begin) * channels, width);
  }
}

void bias_add_grad(Real* dbias, const Real* dy, std::int64_t rows, std::int64_t channels, void* workspace, int threads) {
  const std::int64_t lanes = lanes_of(channels), width = lanes * channels;
#pragma omp parallel num_threads(threads) if (rows * channels > kSerialElements)
  {
    const int thread = omp_get_thread_num(), team = omp_get_num_threads();
    const Range part = part_of(rows, thread, team, lanes);
    double* sum = thread_scratch(workspace, channels, thread).first;
    for (std::int64_t i = 0; i < width; ++i) sum[i] = 0;
    sum_rows(sum, dy + part.begin * channels, (part.end - part.begin) * channels, width);
    sum_lanes(sum, channels, lanes);
#pragma omp barrier
    const Range mine = part_of(channels, thread, team, 16);
    for (std::int64_t c = mine.begin; c < mine.end; ++c) {
      double total = 0;
      for (int t = 0; t < team; ++t) total += thread_scratch(workspace, channels, t).first[c];
      dbias[c] = narrow(static_cast<float>(total));
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
