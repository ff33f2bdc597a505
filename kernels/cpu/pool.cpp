// Pooling in NHWC, vectorized over channels, or over neighboring pixels if there are few channels: maximum over windows, mean
// over the whole image, and the gradient of the mean. The gradient of the maximum is in pool_grad.cpp.
#include <omp.h>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/pool_lanes.h"
#include "kernels/cpu/pool_window.h"
#include "kernels/cpu/rows.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

namespace {

constexpr std::int64_t kNumbers = 64;  // channels processed together: their state fits the registers or the L1 cache

// Number of consecutive output pixels in a row, from ox on and at most `most`, whose windows are inside the row.
std::int64_t whole_windows(const PoolShape& s, std::int64_t ox, std::int64_t most) {
  if (ox * s.stride < s.padding) return 0;
  const std::int64_t last = (s.width + s.padding - s.window) / s.stride;
  return min_of(most, min_of(last, s.out_width - 1) - ox + 1);
}

// n <= kNumbers output elements of few channels: several pixels of a row, whose windows are inside the row. x[corner +
// offset[i]] is (0, 0) of the window of element i.
void max_of_pixels(Real* y, std::uint8_t* index, const Real* x, std::int64_t corner, const std::int32_t* offset,
                   const PoolShape& s, const Window& w, std::int64_t n) {
  float best[kNumbers];
  std::int32_t position[kNumbers];
  const std::int64_t row_stride = s.width * s.channels;
  const Real* first = x + (corner + w.first_row * row_stride);
  for (std::int64_t i = 0; i < n; ++i) {
    best[i] = widen(first[offset[i]]);
    position[i] = static_cast<std::int32_t>(w.first_row * s.window);
  }
  for (std::int64_t ky = w.first_row; ky < w.last_row; ++ky)
    for (std::int64_t kx = 0; kx < s.window; ++kx) {
      const Real* pixel = x + (corner + ky * row_stride + kx * s.channels);
      const auto at = static_cast<std::int32_t>(ky * s.window + kx);
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) {
        const float value = widen(pixel[offset[i]]);
        const bool larger = wins(One{}, value, best[i]);
        best[i] = larger ? value : best[i];
        position[i] = larger ? at : position[i];
      }
    }
  for (std::int64_t i = 0; i < n; ++i) y[i] = narrow(best[i]);
  if (index != nullptr)
    for (std::int64_t i = 0; i < n; ++i) index[i] = static_cast<std::uint8_t>(position[i]);
}

// One pixel of y, [channels], for any window size; x[corner] is (0, 0) of its window, which may be outside the image.
void max_of_window(Real* y, std::uint8_t* index, const Real* x, std::int64_t corner, PoolShape s, Window w) {
  const std::int64_t row_stride = s.width * s.channels;
  across_channels(s.channels, [=](auto part, std::int64_t c) {
    const Real* from = x + (corner + c);
    auto best = load(part, from + w.first_row * row_stride + w.first_column * s.channels);
    auto position = all(part, static_cast<float>(w.first_row * s.window + w.first_column));
    for (std::int64_t ky = w.first_row; ky < w.last_row; ++ky)
      for (std::int64_t kx = w.first_column; kx < w.last_column; ++kx) {
        const auto value = load(part, from + ky * row_stride + kx * s.channels);
        const auto larger = wins(part, value, best);
        best = chosen(larger, value, best);
        position = chosen(larger, all(part, static_cast<float>(ky * s.window + kx)), position);
      }
    store(part, y + c, best);
    if (index != nullptr) store_position(part, index + c, position);
  });
}

// Images times groups of channels, so that a small batch still occupies many threads: a group is at least a cache line wide.
struct Units {
  std::int64_t groups, channels_in_group, count;
};

Units units_of(std::int64_t batch, std::int64_t channels, int threads) {
  const std::int64_t wanted = (threads + batch - 1) / max_of(batch, 1);
  const std::int64_t groups = max_of(1, min_of(wanted, channels / 16));
  const std::int64_t width = (channels + groups - 1) / groups;
  const std::int64_t in_group = groups == 1 ? channels : (width + 15) / 16 * 16;
  return {groups, in_group, batch * groups};
}

// The channels of unit `u`.
Range channels_of(const Units& units, std::int64_t u, std::int64_t channels) {
  const std::int64_t begin = u % units.groups * units.channels_in_group;
  return {min_of(begin, channels), min_of(begin + units.channels_in_group, channels)};
}

// y [channels] = mean over pixels of x [pixels, stride], channels <= kNumbers.
void mean_of_pixels(Real* y, const Real* x, std::int64_t pixels, std::int64_t stride, std::int64_t channels) {
  double sum[kNumbers] = {};
  for (std::int64_t p = 0; p < pixels; ++p)
#pragma omp simd
    for (std::int64_t c = 0; c < channels; ++c) sum[c] += widen(x[p * stride + c]);
  const double n = static_cast<double>(pixels);
  for (std::int64_t c = 0; c < channels; ++c) y[c] = narrow(static_cast<float>(sum[c] / n));
}

}  // namespace

// A NaN wins over every number. Every window must overlap the image.
void max_pool(Real* y, std::uint8_t* index, const Real* x, const PoolShape& shape, int threads) {
  const PoolShape s = shape;
  const std::int64_t pixels_at_once = s.channels < 16 ? kNumbers / s.channels : 1;
  std::int32_t offset[kNumbers];
  for (std::int64_t i = 0; i < pixels_at_once * s.channels && pixels_at_once > 1; ++i)
    offset[i] = static_cast<std::int32_t>(i / s.channels * s.stride * s.channels + i % s.channels);
#pragma omp parallel num_threads(threads) if (s.batch * s.height * s.width * s.channels > kSerialElements)
  {
    const Range rows = part_of(s.batch * s.out_height, omp_get_thread_num(), omp_get_num_threads(), 1);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const std::int64_t n = row / s.out_height, oy = row % s.out_height;
      for (std::int64_t ox = 0; ox < s.out_width;) {
        const Window window = clip(s, oy, ox);
        const std::int64_t top = n * s.height + oy * s.stride - s.padding;
        const std::int64_t in = (top * s.width + ox * s.stride - s.padding) * s.channels;
        const std::int64_t out = (row * s.out_width + ox) * s.channels;
        std::uint8_t* at = index != nullptr ? index + out : nullptr;
        const std::int64_t run = whole_windows(s, ox, pixels_at_once);
        if (run > 1) {
          max_of_pixels(y + out, at, x, in, offset, s, window, run * s.channels);
          ox += run;
          continue;
        }
        max_of_window(y + out, at, x, in, s, window);
        ++ox;
      }
    }
  }
}

void global_average_pool(Real* y, const Real* x, std::int64_t batch, std::int64_t pixels, std::int64_t channels, int threads) {
  const Units units = units_of(batch, channels, threads);
#pragma omp parallel num_threads(threads) if (batch * pixels * channels > kSerialElements)
  {
    const Range part = part_of(units.count, omp_get_thread_num(), omp_get_num_threads(), 1);
    for (std::int64_t u = part.begin; u < part.end; ++u) {
      const std::int64_t n = u / units.groups;
      const auto [begin, end] = channels_of(units, u, channels);
      for (std::int64_t c = begin; c < end; c += kNumbers)
        mean_of_pixels(y + n * channels + c, x + n * pixels * channels + c, pixels, channels, min_of(kNumbers, end - c));
    }
  }
}

void global_average_pool_grad(Real* dx, const Real* dy, std::int64_t batch, std::int64_t pixels, std::int64_t channels,
                              int threads) {
  const float share = static_cast<float>(1 / static_cast<double>(pixels));
#pragma omp parallel num_threads(threads) if (batch * pixels * channels > kSerialElements)
  {
    const Range part = part_of(batch * pixels, omp_get_thread_num(), omp_get_num_threads(), 1);
    for (std::int64_t row = part.begin; row < part.end; ++row) {
      const Real* from = dy + row / pixels * channels;
#pragma omp simd
      for (std::int64_t c = 0; c < channels; ++c) dx[row * channels + c] = narrow(widen(from[c]) * share);
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
