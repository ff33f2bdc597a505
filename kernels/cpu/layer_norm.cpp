// Layer normalization (Ba et al. 2016), parallel over rows. Each row is read from memory once; the second pass finds it in
// cache.
//
// Variance: squared deviations from a pivot (the float mean of the row), corrected for the error of that mean. So a mean much
// larger than the deviation costs no accuracy.
#include <omp.h>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/narrow.h"
#include "kernels/cpu/rows.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

namespace {

constexpr std::int64_t kChunk =
    512;  // channels summed in float before the sum is added in double; a multiple of every vector width
constexpr std::int64_t kBlockRows = 32;  // rows whose gradients per channel are summed in float before they are added in double

double sum_of(const Real* x, std::int64_t n) {
  double total = 0;
  for (std::int64_t begin = 0; begin < n; begin += kChunk) {
    const std::int64_t end = min_of(begin + kChunk, n);
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = begin; i < end; ++i) sum += widen(x[i]);
    total += sum;
  }
  return total;
}

struct Sums {
  double first, second;
};

// The sums of d and of d * d, where d = x - pivot.
Sums deviations(const Real* x, float pivot, std::int64_t n) {
  Sums total{0, 0};
  for (std::int64_t begin = 0; begin < n; begin += kChunk) {
    const std::int64_t end = min_of(begin + kChunk, n);
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

// y = ((x - center) * slope + offset) * scale + bias
void normalize(Real* y, const Real* x, const float* scale, const float* bias, float center, float slope, float offset,
               std::int64_t n) {
  narrow_each(y, n, [=](std::int64_t i) { return ((widen(x[i]) - center) * slope + offset) * scale[i] + bias[i]; });
}

// Adds dy to dbias and dy * normalized x to dscale, and returns the row's sums of g and of g * normalized x, where g = dy *
// scale.
Sums sum_gradients(float* dscale, float* dbias, const Real* dy, const Real* x, const float* scale, float mean, float inv_std,
                   std::int64_t n) {
  Sums total{0, 0};
  for (std::int64_t begin = 0; begin < n; begin += kChunk) {
    const std::int64_t end = min_of(begin + kChunk, n);
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
void apply_gradients(Real* dx, const Real* dy, const Real* x, const float* scale, float mean, float slope, float curve,
                     float offset, std::int64_t n) {
  narrow_each(dx, n,
              [=](std::int64_t i) { return slope * (widen(dy[i]) * scale[i]) + (curve * (widen(x[i]) - mean) + offset); });
}

// Adds block to total and clears block.
void flush(double* total, float* block, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    total[i] += block[i];
    block[i] = 0;
  }
}

}  // namespace

void layer_norm(Real* y, float* mean, float* inv_std, const Real* x, const float* scale, const float* bias, std::int64_t rows,
                std::int64_t channels, double epsilon, int threads) {
  const double inverse_n = 1 / static_cast<double>(channels);
#pragma omp parallel num_threads(threads) if (rows * channels > kSerialElements)
  {
    const Range part = part_of(rows, omp_get_thread_num(), omp_get_num_threads(), 1);
    for (std::int64_t r = part.begin; r < part.end; ++r) {
      const Real* row = x + r * channels;
      const float pivot = static_cast<float>(sum_of(row, channels) * inverse_n);
      const Sums sums = deviations(row, pivot, channels);
      const double shift = sums.first * inverse_n, variance = sums.second * inverse_n - shift * shift;
      const double center = pivot + shift, inverse = 1 / __builtin_sqrt((variance < 0 ? 0 : variance) + epsilon);
      normalize(y + r * channels, row, scale, bias, pivot, static_cast<float>(inverse), static_cast<float>(-shift * inverse),
                channels);
      if (mean != nullptr) mean[r] = static_cast<float>(center);
      if (inv_std != nullptr) inv_std[r] = static_cast<float>(inverse);
    }
  }
}

void layer_norm_grad(Real* dx, float* dscale, float* dbias, const Real* dy, const Real* x, const float* scale,
                     const float* mean, const float* inv_std, std::int64_t rows, std::int64_t channels, void* workspace,
                     int threads) {
  const double inverse_n = 1 / static_cast<double>(channels);
#pragma omp parallel num_threads(threads) if (rows * channels > kSerialElements)
  {
    const int thread = omp_get_thread_num(), team = omp_get_num_threads();
    const Range part = part_of(rows, thread, team, 1);
    const ThreadScratch s = thread_scratch(workspace, channels, thread);
    double *dscale_sum = s.first, *dbias_sum = s.second;
    float *dscale_block = s.sum, *dbias_block = s.squares;
    for (std::int64_t c = 0; c < channels; ++c) {
      dscale_sum[c] = dbias_sum[c] = 0;
      dscale_block[c] = dbias_block[c] = 0;
    }
    for (std::int64_t r = part.begin; r < part.end; ++r) {
      const Real *dy_row = dy + r * channels, *x_row = x + r * channels;
      const Sums sums = sum_gradients(dscale_block, dbias_block, dy_row, x_row, scale, mean[r], inv_std[r], channels);
      const double slope = inv_std[r], curve = -slope * slope * sums.second * inverse_n;
      if (dx != nullptr)
        apply_gradients(dx + r * channels, dy_row, x_row, scale, mean[r], inv_std[r], static_cast<float>(curve),
                        static_cast<float>(-slope * sums.first * inverse_n), channels);
      if ((r - part.begin) % kBlockRows == kBlockRows - 1 || r == part.end - 1) {
        flush(dscale_sum, dscale_block, channels);
        flush(dbias_sum, dbias_block, channels);
      }
    }
#pragma omp barrier
    const Range mine = part_of(channels, thread, team, 16);
    for (std::int64_t c = mine.begin; c < mine.end; ++c) {
      double scale_total = 0, bias_total = 0;
      for (int t = 0; t < team; ++t) {
        const ThreadScratch other = thread_scratch(workspace, channels, t);
        scale_total += other.first[c];
        bias_total += other.second[c];
      }
      if (dscale != nullptr) dscale[c] = static_cast<float>(scale_total);
      if (dbias != nullptr) dbias[c] = static_cast<float>(bias_total);
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
