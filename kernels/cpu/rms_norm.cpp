// Root mean square normalization (Zhang and Sennrich 2019), parallel over rows. Each row is read from memory once; the second
// pass finds it in cache. The fused form also performs the preceding addition of a shortcut while its row is in cache.
#include <omp.h>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/layer_norm_rows.h"
#include "kernels/cpu/rows.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

namespace {

constexpr std::int64_t kBlockRows = 32;  // rows whose gradients per channel are summed in float before they are added in double

// y = x * slope * scale
#if EPOCHBENCH_BF16_LANES
void scale_row(Real* y, const Real* x, const float* scale, float slope, std::int64_t n) {
  const Lanes factor = _mm512_set1_ps(slope);
  across_registers(n,
                   [=](auto part, std::int64_t i) { store(part, y + i, load(part, x + i) * factor * load(part, scale + i)); });
}
#else
void scale_row(Real* y, const Real* x, const float* scale, float slope, std::int64_t n) {
  narrow_each(y, n, [=](std::int64_t i) { return widen(x[i]) * slope * scale[i]; });
}
#endif

// Returns the row's inv_rms.
float rms_norm_row(Real* y, const Real* x, const float* scale, std::int64_t channels, double epsilon) {
  const double mean = deviations(x, 0, channels).second / static_cast<double>(channels);
  const auto inverse = static_cast<float>(1 / __builtin_sqrt(mean + epsilon));
  scale_row(y, x, scale, inverse, channels);
  return inverse;
}

// Adds dy * normalized x to dscale, and returns the row's sum of dy * scale * normalized x.
double sum_products(float* dscale, const Real* dy, const Real* x, const float* scale, float inv_rms, std::int64_t n) {
  double total = 0;
  for (std::int64_t begin = 0; begin < n; begin += kSumChunk) {
    const std::int64_t end = min_of(begin + kSumChunk, n);
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = begin; i < end; ++i) {
      const float upstream = widen(dy[i]) * (widen(x[i]) * inv_rms);
      dscale[i] += upstream;
      sum += upstream * scale[i];
    }
    total += sum;
  }
  return total;
}

}  // namespace

void rms_norm(Real* y, float* inv_rms, const Real* x, const float* scale, std::int64_t rows, std::int64_t channels,
              double epsilon, int threads) {
#pragma omp parallel num_threads(threads) if (rows * channels > kSerialElements)
  {
    const Range part = part_of(rows, omp_get_thread_num(), omp_get_num_threads(), 1);
    for (std::int64_t r = part.begin; r < part.end; ++r) {
      const float inverse = rms_norm_row(y + r * channels, x + r * channels, scale, channels, epsilon);
      if (inv_rms != nullptr) inv_rms[r] = inverse;
    }
  }
}

void add_rms_norm(Real* y, float* inv_rms, Real* sum, const Real* x, const Real* shortcut, const float* scale,
                  std::int64_t rows, std::int64_t channels, double epsilon, int threads) {
  Real* const sums = sum != nullptr ? sum : y;
#pragma omp parallel num_threads(threads) if (rows * channels > kSerialElements)
  {
    const Range part = part_of(rows, omp_get_thread_num(), omp_get_num_threads(), 1);
    for (std::int64_t r = part.begin; r < part.end; ++r) {
      const Real *const a = x + r * channels, *const b = shortcut + r * channels;
      narrow_each(sums + r * channels, channels, [=](std::int64_t i) { return widen(a[i]) + widen(b[i]); });
      const float inverse = rms_norm_row(y + r * channels, sums + r * channels, scale, channels, epsilon);
      if (inv_rms != nullptr) inv_rms[r] = inverse;
    }
  }
}

void rms_norm_grad(Real* dx, float* dscale, const Real* dy, const Real* x, const float* scale, const float* inv_rms,
                   std::int64_t rows, std::int64_t channels, void* workspace, int threads) {
#pragma omp parallel num_threads(threads) if (rows * channels > kSerialElements)
  {
    const int thread = omp_get_thread_num(), team = omp_get_num_threads();
    const Range part = part_of(rows, thread, team, 1);
    const ThreadScratch s = thread_scratch(workspace, channels, thread);
    double* const totals = s.first;
    float* const block = s.sum;
    for (std::int64_t c = 0; c < channels; ++c) {
      totals[c] = 0;
      block[c] = 0;
    }
    for (std::int64_t r = part.begin; r < part.end; ++r) {
      const Real *dy_row = dy + r * channels, *x_row = x + r * channels;
      const double slope = inv_rms[r], products = sum_products(block, dy_row, x_row, scale, inv_rms[r], channels);
      const auto curve = static_cast<float>(-slope * slope * products / static_cast<double>(channels));
      if (dx != nullptr) apply_gradients(dx + r * channels, dy_row, x_row, scale, 0, inv_rms[r], curve, 0, channels);
      if ((r - part.begin) % kBlockRows == kBlockRows - 1 || r == part.end - 1) flush(totals, block, channels);
    }
#pragma omp barrier
    const Range mine = part_of(channels, thread, team, 16);
    for (std::int64_t c = mine.begin; c < mine.end && dscale != nullptr; ++c) {
      double total = 0;
      for (int t = 0; t < team; ++t) total += thread_scratch(workspace, channels, t).first[c];
      dscale[c] = static_cast<float>(total);
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
