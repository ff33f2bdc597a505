// Batch normalisation over rows: one pass for the statistics, one that normalises; the gradient likewise.
//
// Statistics: blocks of rows are summed in float about a pivot, the running mean of the rows before, and merged into means
// and squared deviations in double by the formula of Chan, Golub and LeVeque (1983). So a mean far larger than the deviation
// costs no accuracy: what cancels in a block is less than what that block adds to the total. Threads are merged in order.
#include <omp.h>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/rows.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

namespace {

constexpr std::int64_t kBlockFours = 32;  // fours of wide rows between two merges: merging is then a tenth of the work in cache

void fill(float* values, float value, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) values[i] = value;
}

// sum, squares [width] += sums of d and d * d over fours of rows `stride` apart, where d = x - pivot.
void add_fours(float* sum, float* squares, const Real* x, const float* pivot, std::int64_t fours, std::int64_t stride,
               std::int64_t width) {
  for (std::int64_t r = 0; r < fours; ++r) {
    const Real *x0 = x + r * width, *x1 = x0 + stride, *x2 = x1 + stride, *x3 = x2 + stride;
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) {
      const float p = pivot[i], d0 = widen(x0[i]) - p, d1 = widen(x1[i]) - p, d2 = widen(x2[i]) - p, d3 = widen(x3[i]) - p;
      sum[i] += (d0 + d1) + (d2 + d3);
      squares[i] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3);
    }
  }
}

void add_row(float* sum, float* squares, const Real* x, const float* pivot, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const float d = widen(x[i]) - pivot[i];
    sum[i] += d;
    squares[i] += d * d;
  }
}

// mean and deviations (sums of squared deviations) of n_a rows become those of n_a + n_b rows. n_b > 0.
inline void merge_one(double& mean_a, double& deviations_a, double n_a, double mean_b, double deviations_b, double n_b) {
  const double delta = mean_b - mean_a, share = n_b / (n_a + n_b);
  mean_a += delta * share;
  deviations_a += deviations_b + delta * delta * n_a * share;
}

void merge(double* mean_a, double* deviations_a, double n_a, const double* mean_b, const double* deviations_b, double n_b,
           std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) merge_one(mean_a[i], deviations_a[i], n_a, mean_b[i], deviations_b[i], n_b);
}

// Merges the block in sum and squares into first (mean) and second (deviations), and starts the next block.
void merge_block(const ThreadScratch& s, double n_before, double n_block, std::int64_t width) {
  double *mean = s.first, *deviations = s.second;
  float *pivot = s.pivot, *sum = s.sum, *squares = s.squares;
  const double inverse = 1 / n_block;
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    const double offset = sum[i] * inverse, spread = squares[i] - sum[i] * offset;
    merge_one(mean[i], deviations[i], n_before, pivot[i] + offset, spread < 0 ? 0 : spread, n_block);
    pivot[i] = static_cast<float>(mean[i]);
    sum[i] = 0;
    squares[i] = 0;
  }
}

// A pivot for the first block, which has no rows before it: its own mean, by a sweep more, or its only row.
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

// y = relu?((x - center) * slope + offset [+ shortcut]) over n elements of rows that are `width` wide.
template <bool kShortcut, bool kRelu>
void normalise(Real* y, const Real* x, const Real* shortcut, const SharedScratch& s, std::int64_t n, std::int64_t width) {
  const float *center = s.center, *slope = s.slope, *offset = s.offset;
  for_each_in_rows(n, width, [=](std::int64_t at, std::int64_t i) {
    float value = (widen(x[at]) - center[i]) * slope[i] + offset[i];
    if constexpr (kShortcut) value += widen(shortcut[at]);
    if constexpr (kRelu) value = value < 0 ? 0 : value;
    y[at] = narrow(value);
  });
}

void normalise(Real* y, const Real* x, const Real* shortcut, bool relu, const SharedScratch& s, Range rows,
               std::int64_t channels, std::int64_t width) {
  const std::int64_t at = rows.begin * channels, n = (rows.end - rows.begin) * channels;
  if (shortcut != nullptr && relu) return normalise<true, true>(y + at, x + at, shortcut + at, s, n, width);
  if (shortcut != nullptr) return normalise<true, false>(y + at, x + at, shortcut + at, s, n, width);
  if (relu) return normalise<false, true>(y + at, x + at, nullptr, s, n, width);
  return normalise<false, false>(y + at, x + at, nullptr, s, n, width);
}

// first [width] += sums over rows of g, second of g * (x - pivot), over n elements of rows that are `width` wide; g = dy, with
// a relu only where y > 0.
template <bool kRelu>
void sum_gradients(const ThreadScratch& s, const Real* dy, const Real* y, const Real* x, std::int64_t n, std::int64_t width) {
  double *sum = s.first, *product = s.second;
  const float* center = s.pivot;
  const auto g = [=](std::int64_t i) { return !kRelu || widen(y[i]) > 0 ? widen(dy[i]) : 0; };
  const auto d = [=](std::int64_t at, std::int64_t i) { return widen(x[at + i]) - center[i]; };
  const Fours fours = fours_of(n, width);
  for (std::int64_t r0 = 0; r0 < fours.stride; r0 += width) {
    const std::int64_t r1 = r0 + fours.stride, r2 = r1 + fours.stride, r3 = r2 + fours.stride;
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) {
      const float g0 = g(r0 + i), g1 = g(r1 + i), g2 = g(r2 + i), g3 = g(r3 + i);
      sum[i] += (g0 + g1) + (g2 + g3);
      product[i] += (g0 * d(r0, i) + g1 * d(r1, i)) + (g2 * d(r2, i) + g3 * d(r3, i));
    }
  }
  for (std::int64_t at = fours.rest; at < n; at += width) {
    const std::int64_t length = min_of(width, n - at);
#pragma omp simd
    for (std::int64_t i = 0; i < length; ++i) {
      const float g0 = g(at + i);
      sum[i] += g0;
      product[i] += g0 * d(at, i);
    }
  }
}

// dx = slope * g + curve * (x - center) + offset; dz = g, where it is wanted.
template <bool kRelu, bool kShortcut>
void apply_gradients(Real* dx, Real* dz, const Real* dy, const Real* y, const Real* x, const SharedScratch& s, std::int64_t n,
                     std::int64_t width) {
  const float *center = s.center, *slope = s.slope, *offset = s.offset, *curve = s.curve;
  for_each_in_rows(n, width, [=](std::int64_t at, std::int64_t i) {
    const float g = !kRelu || widen(y[at]) > 0 ? widen(dy[at]) : 0;
    const float value = slope[i] * g + (curve[i] * (widen(x[at]) - center[i]) + offset[i]);
    if constexpr (kShortcut) dz[at] = narrow(g);
    dx[at] = narrow(value);
  });
}

}  // namespace

std::size_t reduction_workspace_bytes(std::int64_t channels, int threads) { return scratch_bytes(channels, threads); }

void batch_norm(Real* y, float* mean, float* inv_std, float* running_mean, float* running_variance, const Real* x,
                const float* scale, const float* bias, const Real* shortcut, std::int64_t rows, std::int64_t channels,
                double epsilon, double momentum, bool relu, void* workspace, int threads) {
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
    for (std::int64_t c = mine.begin; c < mine.end; ++c) {
      const double center = total.first[c], deviations = total.second[c];
      const double inverse = 1 / __builtin_sqrt(deviations / n + epsilon), unbiased = rows > 1 ? deviations / (n - 1) : 0;
      shared.center[c] = static_cast<float>(center);
      shared.slope[c] = static_cast<float>(inverse * scale[c]);
      shared.offset[c] = static_cast<float>(bias[c] + (shared.center[c] - center) * inverse * scale[c]);
      if (mean != nullptr) mean[c] = shared.center[c];
      if (inv_std != nullptr) inv_std[c] = static_cast<float>(inverse);
      if (running_mean != nullptr) running_mean[c] = static_cast<float>((1 - momentum) * running_mean[c] + momentum * center);
      if (running_variance != nullptr)
        running_variance[c] = static_cast<float>((1 - momentum) * running_variance[c] + momentum * unbiased);
    }
    repeat(shared.center, shared.center, channels, lanes, mine);
    repeat(shared.slope, shared.slope, channels, lanes, mine);
    repeat(shared.offset, shared.offset, channels, lanes, mine);
#pragma omp barrier
    normalise(y, x, shortcut, relu, shared, part, channels, lanes * channels);
  }
}

void batch_norm_inference(Real* y, const Real* x, const float* scale, const float* bias, const float* running_mean,
                          const float* running_variance, const Real* shortcut, std::int64_t rows, std::int64_t channels,
                          double epsilon, bool relu, void* workspace, int threads) {
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
    normalise(y, x, shortcut, relu, shared, part_of(rows, thread, team, lanes), channels, lanes * channels);
  }
}

void batch_norm_grad(Real* dx, float* dscale, float* dbias, Real* dz, const Real* dy, const Real* y, const Real* x,
                     const float* scale, const float* mean, const float* inv_std, std::int64_t rows, std::int64_t channels,
                     void* workspace, int threads) {
  const std::int64_t lanes = lanes_of(channels), width = lanes * channels;
  const SharedScratch shared = shared_scratch(workspace, channels);
  const auto sum = y != nullptr ? sum_gradients<true> : sum_gradients<false>;
  const auto apply = y == nullptr ? (dz != nullptr ? apply_gradients<false, true> : apply_gradients<false, false>)
                                  : (dz != nullptr ? apply_gradients<true, true> : apply_gradients<true, false>);
#pragma omp parallel num_threads(threads) if (rows * channels > kSerialElements)
  {
    const int thread = omp_get_thread_num(), team = omp_get_num_threads();
    const Range part = part_of(rows, thread, team, lanes), mine = part_of(channels, thread, team, 16);
    const std::int64_t at = part.begin * channels, n = (part.end - part.begin) * channels;
    const ThreadScratch s = thread_scratch(workspace, channels, thread);
    const Real* y_part = y != nullptr ? y + at : nullptr;
    for (std::int64_t i = 0; i < width; ++i) s.first[i] = s.second[i] = 0;
    repeat(s.pivot, mean, channels, lanes, {0, channels});
    sum(s, dy + at, y_part, x + at, n, width);
    sum_lanes(s.first, channels, lanes);
    sum_lanes(s.second, channels, lanes);
#pragma omp barrier
    const double inverse_n = 1 / static_cast<double>(rows);
    for (std::int64_t c = mine.begin; c < mine.end; ++c) {
      double total = 0, product = 0;
      for (int t = 0; t < team; ++t) {
        const ThreadScratch other = thread_scratch(workspace, channels, t);
        total += other.first[c];
        product += other.second[c];
      }
      const double inverse = inv_std[c], slope = scale[c] * inverse;
      if (dscale != nullptr) dscale[c] = static_cast<float>(product * inverse);
      if (dbias != nullptr) dbias[c] = static_cast<float>(total);
      shared.slope[c] = static_cast<float>(slope);
      shared.offset[c] = static_cast<float>(-slope * total * inverse_n);
      shared.curve[c] = static_cast<float>(-slope * inverse * inverse * product * inverse_n);
    }
    repeat(shared.center, mean, channels, lanes, mine);
    repeat(shared.slope, shared.slope, channels, lanes, mine);
    repeat(shared.offset, shared.offset, channels, lanes, mine);
    repeat(shared.curve, shared.curve, channels, lanes, mine);
#pragma omp barrier
    if (dx != nullptr) apply(dx + at, dz != nullptr ? dz + at : nullptr, dy + at, y_part, x + at, shared, n, width);
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
