// Layer normalization (Ba et al. 2016), parallel over rows. Each row is read from memory once; the second pass finds it in
// cache. The fused forms also process the preceding sum of a dropout and a shortcut while its row is in cache.
//
// Variance: squared deviations from a pivot (the float mean of the row), corrected for the error of that mean. So a mean much
// larger than the deviation costs no accuracy.
#include <omp.h>

#include "kernels/cpu/dropout_rows.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/layer_norm_rows.h"
#include "kernels/cpu/rows.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

namespace {

constexpr std::int64_t kBlockRows = 32;  // rows whose gradients per channel are summed in float before they are added in double

struct Statistics {  // of row r; null: not wanted
  float *mean, *inv_std;
};

void layer_norm_row(Real* y, const Statistics& statistics, const Real* x, const float* scale, const float* bias, std::int64_t r,
                    std::int64_t channels, double epsilon) {
  const double inverse_n = 1 / static_cast<double>(channels);
  const float pivot = static_cast<float>(sum_of(x, channels) * inverse_n);
  const Sums sums = deviations(x, pivot, channels);
  const double shift = sums.first * inverse_n, variance = sums.second * inverse_n - shift * shift;
  const double center = pivot + shift, inverse = 1 / __builtin_sqrt((variance < 0 ? 0 : variance) + epsilon);
  normalize_row(y, x, scale, bias, pivot, static_cast<float>(inverse), static_cast<float>(-shift * inverse), channels);
  if (statistics.mean != nullptr) statistics.mean[r] = static_cast<float>(center);
  if (statistics.inv_std != nullptr) statistics.inv_std[r] = static_cast<float>(inverse);
}

// The mask of the dropout before a sum; without one nothing is dropped.
struct SumMask {
  const PhiloxKeys* keys;  // null: none
  const Dropout* dropout;
};

// sum [n] = dropout(x) + shortcut, rounded once. first: index of its first element in the tensor.
void add_row(Real* sum, const Real* x, const Real* shortcut, const SumMask& mask, std::int64_t first, std::int64_t n) {
  if (mask.keys == nullptr) {
    narrow_each(sum, n, [=](std::int64_t i) { return widen(x[i]) + widen(shortcut[i]); });
    return;
  }
  for_each_drawn(first, n, *mask.dropout, *mask.keys, [=](const RowMask& drawn, std::int64_t i, std::int64_t count) {
    keep_and_add(sum + i, x + i, shortcut + i, drawn, count);
  });
}

void drop_row(Real* y, const Real* x, const SumMask& mask, std::int64_t first, std::int64_t n) {
  for_each_drawn(first, n, *mask.dropout, *mask.keys,
                 [=](const RowMask& drawn, std::int64_t i, std::int64_t count) { keep(y + i, x + i, drawn, count); });
}

struct GradOutputs {
  Real *dx, *dropped;  // of the normalization's input, and the same with the mask; or null
  float *dscale, *dbias;
};

void grad(const GradOutputs& out, const SumMask& mask, const Real* dy, const Real* x, const float* scale, const float* mean,
          const float* inv_std, std::int64_t rows, std::int64_t channels, void* workspace, int threads) {
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
      Real* const target = out.dx != nullptr ? out.dx : out.dropped;
      if (target != nullptr)
        apply_gradients(target + r * channels, dy_row, x_row, scale, mean[r], inv_std[r], static_cast<float>(curve),
                        static_cast<float>(-slope * sums.first * inverse_n), channels);
      if (out.dropped != nullptr) drop_row(out.dropped + r * channels, target + r * channels, mask, r * channels, channels);
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
      if (out.dscale != nullptr) out.dscale[c] = static_cast<float>(scale_total);
      if (out.dbias != nullptr) out.dbias[c] = static_cast<float>(bias_total);
    }
  }
}

}  // namespace

void layer_norm(Real* y, float* mean, float* inv_std, const Real* x, const float* scale, const float* bias, std::int64_t rows,
                std::int64_t channels, double epsilon, int threads) {
#pragma omp parallel num_threads(threads) if (rows * channels > kSerialElements)
  {
    const Range part = part_of(rows, omp_get_thread_num(), omp_get_num_threads(), 1);
    for (std::int64_t r = part.begin; r < part.end; ++r)
      layer_norm_row(y + r * channels, {mean, inv_std}, x + r * channels, scale, bias, r, channels, epsilon);
  }
}

void add_layer_norm(Real* y, float* mean, float* inv_std, Real* sum, const Real* x, const Real* shortcut, const float* scale,
                    const float* bias, const std::int32_t* step, const Dropout& dropout, std::int64_t rows,
                    std::int64_t channels, double epsilon, int threads) {
  const PhiloxKeys keys(step == nullptr ? 0 : *step, dropout);
  const SumMask mask{dropout.threshold == 0 ? nullptr : &keys, &dropout};
  Real* const sums = sum != nullptr ? sum : y;
#pragma omp parallel num_threads(threads) if (rows * channels > kSerialElements / 4)
  {
    const Range part = part_of(rows, omp_get_thread_num(), omp_get_num_threads(), 1);
    for (std::int64_t r = part.begin; r < part.end; ++r) {
      const std::int64_t first = r * channels;
      add_row(sums + first, x + first, shortcut + first, mask, first, channels);
      layer_norm_row(y + first, {mean, inv_std}, sums + first, scale, bias, r, channels, epsilon);
    }
  }
}

void layer_norm_grad(Real* dx, float* dscale, float* dbias, const Real* dy, const Real* x, const float* scale,
                     const float* mean, const float* inv_std, std::int64_t rows, std::int64_t channels, void* workspace,
                     int threads) {
  grad({dx, nullptr, dscale, dbias}, {nullptr, nullptr}, dy, x, scale, mean, inv_std, rows, channels, workspace, threads);
}

void add_layer_norm_grad(Real* dx, float* dscale, float* dbias, Real* dsum, const Real* dy, const Real* sum, const float* scale,
                         const float* mean, const float* inv_std, const std::int32_t* step, const Dropout& dropout,
                         std::int64_t rows, std::int64_t channels, void* workspace, int threads) {
  const PhiloxKeys keys(step == nullptr ? 0 : *step, dropout);
  grad({dsum, dx, dscale, dbias}, {&keys, &dropout}, dy, sum, scale, mean, inv_std, rows, channels, workspace, threads);
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
