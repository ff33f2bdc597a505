// Batch normalization over rows: one pass computes the statistics, unless a convolution did (gemm/column_moments.h), one
// normalizes. The gradient is in batch_norm_grad.cpp.
//
// Statistics: blocks of rows are summed in float around a pivot (the running mean of earlier rows) and merged into means and
// squared deviations in double by the formula of Chan, Golub and LeVeque (1983). So a mean much larger than the deviation costs
// no accuracy: what cancels in a block is less than what that block adds to the total. Threads are merged in order.
#include <type_traits>

#include <omp.h>

#include "kernels/cpu/gemm/column_moments.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/shares.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

namespace {

constexpr std::int64_t kBlockFours =
    32;  // groups of four wide rows between two merges: merging then takes a tenth of the time in cache

void fill(float* values, float value, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) values[i] = value;
}

// sum, squares [width] += sums of d and d * d over groups of four rows `stride` apart, where d = x - pivot.
void add_fours(float* sum, float* squares, const Real* x, const float* pivot, std::int64_t fours, std::int64_t stride,
               std::int64_t width) {
  for (std::int64_t r = 0; r < fours; ++r) {
    const Real *x0 = x + r * width, *x1 = x0 + stride, *x2 = x1 + stride, *x3 = x2 + stride;
    across(width, [=](auto part, std::int64_t i) {
      const auto p = load(part, pivot + i);
      const auto d0 = load(part, x0 + i) - p, d1 = load(part, x1 + i) - p;
      const auto d2 = load(part, x2 + i) - p, d3 = load(part, x3 + i) - p;
      add_to(part, sum + i, (d0 + d1) + (d2 + d3));
      add_to(part, squares + i, (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3));
    });
  }
}

void add_row(float* sum, float* squares, const Real* x, const float* pivot, std::int64_t n) {
  across(n, [=](auto part, std::int64_t i) {
    const auto d = load(part, x + i) - load(part, pivot + i);
    add_to(part, sum + i, d);
    add_to(part, squares + i, d * d);
  });
}

void merge(double* mean_a, double* deviations_a, double n_a, const double* mean_b, const double* deviations_b, double n_b,
           std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) merge_moments(mean_a[i], deviations_a[i], n_a, mean_b[i], deviations_b[i], n_b);
}

// Merges the block in sum and squares into first (mean) and second (deviations), and starts the next block.
void merge_block(const ThreadScratch& s, double n_before, double n_block, std::int64_t width) {
  double *mean = s.first, *deviations = s.second;
  float *pivot = s.pivot, *sum = s.sum, *squares = s.squares;
  const double inverse = 1 / n_block;
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    const double offset = sum[i] * inverse, spread = squares[i] - sum[i] * offset;
    merge_moments(mean[i], deviations[i], n_before, pivot[i] + offset, spread < 0 ? 0 : spread, n_block);
    pivot[i] = static_cast<float>(mean[i]);
    sum[i] = 0;
    squares[i] = 0;
  }
}

// A pivot for the first block, which no rows precede: its own mean, computed by an extra sweep, or its only row.
void first_pivot(const ThreadScratch& s, const Real* x, const Fours& fours, std::int64_t n, std::int64_t width) {
  const std::int64_t block = min_of(kBlockFours, fours.count);
  if (block == 0) {
    for (std::int64_t i = 0; i < min_of(n, width); ++i) s.pivot[i] = widen(x[i]);
    return;
  }
  fill(s.pivot, 0, width);
  add_fours(s.sum, s.squares, x, s.pivot, block, fours.stride, width);
  for (std::int64_t i = 0; i < width; ++i) s.pivot[i] = s.sum[i] / static_cast<float>(4 * block);
  fill(s.sum, 0, width);
  fill(s.squares, 0, width);
}

// Mean and deviations of x [rows, channels] into s.first and s.second [channels].
void moments(const ThreadScratch& s, const Real* x, std::int64_t rows, std::int64_t channels, std::int64_t lanes) {
  const std::int64_t width = lanes * channels, n = rows * channels, wide_rows = rows / lanes, rest = rows % lanes;
  const Fours fours = fours_of(n, width);
  for (std::int64_t i = 0; i < width; ++i) s.first[i] = s.second[i] = 0;
  fill(s.sum, 0, width);
  fill(s.squares, 0, width);
  first_pivot(s, x, fours, n, width);
  for (std::int64_t r = 0; r < fours.count; r += kBlockFours) {
    const std::int64_t block = min_of(kBlockFours, fours.count - r);
    add_fours(s.sum, s.squares, x + r * width, s.pivot, block, fours.stride, width);
    merge_block(s, static_cast<double>(4 * r), static_cast<double>(4 * block), width);
  }
  const std::int64_t single = wide_rows - 4 * fours.count;
  for (std::int64_t r = 0; r < single; ++r) add_row(s.sum, s.squares, x + fours.rest + r * width, s.pivot, width);
  if (single > 0) merge_block(s, static_cast<double>(4 * fours.count), static_cast<double>(single), width);
  if (rest > 0) {
    add_row(s.sum, s.squares, x + wide_rows * width, s.pivot, rest * channels);
    merge_block(s, static_cast<double>(wide_rows), 1, rest * channels);
  }
  std::int64_t merged = wide_rows + (rest > 0);
  for (std::int64_t lane = 1; lane < lanes; ++lane) {
    const std::int64_t n_lane = wide_rows + (lane < rest);
    if (n_lane == 0) break;
    merge(s.first, s.second, static_cast<double>(merged), s.first + lane * channels, s.second + lane * channels,
          static_cast<double>(n_lane), channels);
    merged += n_lane;
  }
}

struct Normalized {  // what normalize writes: y, and a bit per element that is positive
  Real* y;
  unsigned char* mask;  // or null
};

// y = activation((x - center) * slope + offset [+ shortcut]) over n elements of rows of `width` elements.
template <bool kShortcut, Activation::Kind kActivation>
void normalize(const Normalized& to, const Real* x, const Real* shortcut, const SharedScratch& s, std::int64_t n,
               std::int64_t width) {
  for_each_column_in_rows(n, width, [=](auto part, std::int64_t i) {
    const auto center = load(part, s.center + i), slope = load(part, s.slope + i), offset = load(part, s.offset + i);
    return [=](std::int64_t at) {
      auto value = (load(part, x + at) - center) * slope + offset;
      if constexpr (kShortcut) value = value + load(part, shortcut + at);
      if constexpr (kActivation != Activation::none) value = relu_of(part, value);
      if constexpr (kActivation == Activation::relu6) value = at_most_six(part, value);
      if constexpr (kActivation == Activation::relu && std::is_same_v<decltype(part), Whole>)
        if (to.mask != nullptr) store_bits(part, to.mask, at, positive(value));
      if constexpr (kActivation == Activation::relu6 && std::is_same_v<decltype(part), Whole>)
        if (to.mask != nullptr) store_bits(part, to.mask, at, between_0_and_6(rounded(part, value)));
      store(part, to.y + at, value);
    };
  });
}

template <Activation::Kind kActivation>
void normalize(const Normalized& to, const Real* x, const Real* shortcut, const SharedScratch& s, std::int64_t n,
               std::int64_t width) {
  if (shortcut != nullptr) return normalize<true, kActivation>(to, x, shortcut, s, n, width);
  return normalize<false, kActivation>(to, x, nullptr, s, n, width);
}

void normalize(const Normalized& all, const Real* x, const Real* shortcut, Activation activation, const SharedScratch& s,
               Range rows, std::int64_t channels, std::int64_t width) {
  const std::int64_t at = rows.begin * channels, n = (rows.end - rows.begin) * channels;
  const Normalized to = {all.y + at, all.mask != nullptr ? all.mask + at / 8 : nullptr};
  const Real* added = shortcut != nullptr ? shortcut + at : nullptr;
  switch (activation.kind) {
    case Activation::none:
      return normalize<Activation::none>(to, x + at, added, s, n, width);
    case Activation::relu:
      return normalize<Activation::relu>(to, x + at, added, s, n, width);
    case Activation::relu6:
      return normalize<Activation::relu6>(to, x + at, added, s, n, width);
  }
}

// The outputs besides y, as in kernel_list.inc; each may be null.
struct Statistics {
  float *mean, *inv_std, *running_mean, *running_variance;
};
struct Coefficients {
  const float *scale, *bias;
  double epsilon, momentum;
};

// From the moments of channel c over n rows.
void finish_channel(const SharedScratch& shared, const Statistics& to, const Coefficients& with, std::int64_t c, double center,
                    double deviations, double n) {
  const double inverse = 1 / __builtin_sqrt(deviations / n + with.epsilon), unbiased = n > 1 ? deviations / (n - 1) : 0;
  const double momentum = with.momentum;
  shared.center[c] = static_cast<float>(center);
  shared.slope[c] = static_cast<float>(inverse * with.scale[c]);
  shared.offset[c] = static_cast<float>(with.bias[c] + (shared.center[c] - center) * inverse * with.scale[c]);
  if (to.mean != nullptr) to.mean[c] = shared.center[c];
  if (to.inv_std != nullptr) to.inv_std[c] = static_cast<float>(inverse);
  if (to.running_mean != nullptr)
    to.running_mean[c] = static_cast<float>((1 - momentum) * to.running_mean[c] + momentum * center);
  if (to.running_variance != nullptr)
    to.running_variance[c] = static_cast<float>((1 - momentum) * to.running_variance[c] + momentum * unbiased);
}

void repeat_coefficients(const SharedScratch& shared, std::int64_t channels, std::int64_t lanes, Range mine) {
  repeat(shared.center, shared.center, channels, lanes, mine);
  repeat(shared.slope, shared.slope, channels, lanes, mine);
  repeat(shared.offset, shared.offset, channels, lanes, mine);
}

}  // namespace

std::size_t reduction_workspace_bytes(std::int64_t channels, int threads) { return scratch_bytes(channels, threads); }

void batch_norm(Real* y, std::uint32_t* mask, float* mean, float* inv_std, float* running_mean, float* running_variance,
                const Real* x, const float* scale, const float* bias, const Real* shortcut, std::int64_t rows,
                std::int64_t channels, double epsilon, double momentum, Activation activation, void* workspace, int threads) {
  const std::int64_t lanes = lanes_of(channels);
  const SharedScratch shared = shared_scratch(workspace, channels);
#pragma omp parallel num_threads(threads) if (rows * channels > kSerialElements)
  {
    const int thread = omp_get_thread_num(), team = omp_get_num_threads();
    const Range part = part_of(rows, thread, team, lanes);
    moments(thread_scratch(workspace, channels, thread), x + part.begin * channels, part.end - part.begin, channels, lanes);
#pragma omp barrier
    const Range mine = part_of(channels, thread, team, 16);
    const ThreadScratch total = thread_scratch(workspace, channels, 0);
    double n = static_cast<double>(part_of(rows, 0, team, lanes).end);
    for (int t = 1; t < team; ++t) {
      const Range other_part = part_of(rows, t, team, lanes);
      const double n_other = static_cast<double>(other_part.end - other_part.begin);
      if (n_other == 0) continue;
      const ThreadScratch other = thread_scratch(workspace, channels, t);
      merge(total.first + mine.begin, total.second + mine.begin, n, other.first + mine.begin, other.second + mine.begin,
            n_other, mine.end - mine.begin);
      n += n_other;
    }
    for (std::int64_t c = mine.begin; c < mine.end; ++c)
      finish_channel(shared, {mean, inv_std, running_mean, running_variance}, {scale, bias, epsilon, momentum}, c,
                     total.first[c], total.second[c], n);
    repeat_coefficients(shared, channels, lanes, mine);
#pragma omp barrier
    normalize({y, reinterpret_cast<unsigned char*>(mask)}, x, shortcut, activation, shared, part, channels, lanes * channels);
  }
}

std::size_t moments_workspace_bytes(std::int64_t channels, int threads) { return moment_bytes(channels, threads * kShares); }

void batch_norm_of_moments(Real* y, std::uint32_t* mask, float* mean, float* inv_std, float* running_mean,
                           float* running_variance, const Real* x, void* moments, const float* scale, const float* bias,
                           const Real* shortcut, std::int64_t rows, std::int64_t channels, double epsilon, double momentum,
                           Activation activation, void* workspace, int threads) {
  const std::int64_t lanes = lanes_of(channels), parts = moment_parts(moments);
  const SharedScratch shared = shared_scratch(workspace, channels);
#pragma omp parallel num_threads(threads) if (rows * channels > kSerialElements)
  {
    const int thread = omp_get_thread_num(), team = omp_get_num_threads();
    const Range mine = part_of(channels, thread, team, 16);
    for (std::int64_t c = mine.begin; c < mine.end; ++c) {
      double center = 0, deviations = 0, n = 0;
      for (int part = 0; part < parts; ++part) {
        const ColumnMoments m = column_moments(moments, channels, part);
        if (m.count[c] == 0) continue;
        merge_moments(center, deviations, n, m.mean[c], m.deviations[c], m.count[c]);
        n += m.count[c];
      }
      finish_channel(shared, {mean, inv_std, running_mean, running_variance}, {scale, bias, epsilon, momentum}, c, center,
                     deviations, n);
    }
    repeat_coefficients(shared, channels, lanes, mine);
#pragma omp barrier
    normalize({y, reinterpret_cast<unsigned char*>(mask)}, x, shortcut, activation, shared, part_of(rows, thread, team, lanes),
              channels, lanes * channels);
  }
}

void batch_norm_inference(Real* y, const Real* x, const float* scale, const float* bias, const float* running_mean,
                          const float* running_variance, const Real* shortcut, std::int64_t rows, std::int64_t channels,
                          double epsilon, Activation activation, void* workspace, int threads) {
  const std::int64_t lanes = lanes_of(channels);
  const SharedScratch shared = shared_scratch(workspace, channels);
#pragma omp parallel num_threads(threads) if (rows * channels > kSerialElements)
  {
    const int thread = omp_get_thread_num(), team = omp_get_num_threads();
    const Range mine = part_of(channels, thread, team, 16);
    for (std::int64_t c = mine.begin; c < mine.end; ++c)
      shared.slope[c] = static_cast<float>(scale[c] / __builtin_sqrt(running_variance[c] + epsilon));
    repeat(shared.center, running_mean, channels, lanes, mine);
    repeat(shared.slope, shared.slope, channels, lanes, mine);
    repeat(shared.offset, bias, channels, lanes, mine);
#pragma omp barrier
    normalize({y, nullptr}, x, shortcut, activation, shared, part_of(rows, thread, team, lanes), channels, lanes * channels);
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
