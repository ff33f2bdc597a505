// The gradient of the maximum over windows. Each element of dx checks for every window that covers it whether it was the
// maximum. So the rows of dx are independent, and each element is a float sum, rounded once. Where windows do not overlap and
// channels are few, each element of dy is stored at its maximum instead.
#include <omp.h>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/pool_lanes.h"
#include "kernels/cpu/pool_window.h"
#include "kernels/cpu/rows.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

namespace {

constexpr std::int64_t kFewChannels = 16;  // below, neighboring pixels are processed together
constexpr std::int64_t kRowTile = 512;     // elements of a row of dx processed together in that case
constexpr std::int64_t kMaxSpan = 16;      // rows or columns of the largest window: an index is a byte

// One pixel of dx, from the `rows` by `columns` windows of the image that cover it. kRowsOver, kColumnsOver: their numbers, or
// 0 for any. `position` is that of the pixel in the first window; in the next, it is a stride less.
template <int kRowsOver, int kColumnsOver>
void gather_pixel(Real* dx, const Real* dy, const std::uint8_t* index, PoolShape s, Range rows, Range columns, int position) {
  const std::int64_t first = (rows.begin * s.out_width + columns.begin) * s.channels, row_stride = s.out_width * s.channels;
  const std::int64_t rows_over = kRowsOver > 0 ? kRowsOver : rows.end - rows.begin;
  const std::int64_t columns_over = kColumnsOver > 0 ? kColumnsOver : columns.end - columns.begin;
  const auto stride = static_cast<int>(s.stride), below = static_cast<int>(s.stride * s.window);
  across_channels(s.channels, [=](auto part, std::int64_t c) {
    decltype(load(part, dy)) sum{};
    for (std::int64_t oy = 0; oy < rows_over; ++oy)
      for (std::int64_t ox = 0; ox < columns_over; ++ox) {
        const std::int64_t at = first + oy * row_stride + ox * s.channels + c;
        const int here = position - static_cast<int>(oy) * below - static_cast<int>(ox) * stride;
        sum += kept(is_at(part, index + at, here), load(part, dy + at));
      }
    store(part, dx + c, sum);
  });
}

// One row of dx of one image.
void gather_pixels(Real* dx, const Real* dy, const std::uint8_t* index, const PoolShape& s, std::int64_t row) {
  const Range rows = windows_over(row, s.window, s.stride, s.padding, s.out_height);
  for (std::int64_t x = 0; x < s.width; ++x) {
    const Range columns = windows_over(x, s.window, s.stride, s.padding, s.out_width);
    const auto position =
        static_cast<int>((row + s.padding - rows.begin * s.stride) * s.window + x + s.padding - columns.begin * s.stride);
    with_windows(rows, columns, [&](auto rows_over, auto columns_over) {
      gather_pixel<rows_over.value, columns_over.value>(dx + x * s.channels, dy, index, s, rows, columns, position);
    });
  }
}

// A sequence of elements, each with a gradient and the window column that held the maximum; -1 if the maximum was not in the
// row being computed.
constexpr std::int64_t kLine = kRowTile + kMaxSpan * kFewChannels + 2 * kFewChannels;
struct Line {
  float dy[kLine];
  std::int32_t column[kLine];
};

// Reads windows [ox.begin, ox.end) of a row of windows, except those outside the row; `corner` is the position of the row being
// computed.
void read_windows(Line& to, const Real* dy, const std::uint8_t* index, const PoolShape& s, std::int64_t corner, Range ox) {
  const std::int64_t begin = min_of(max_of(0, -ox.begin), ox.end - ox.begin) * s.channels;
  const std::int64_t end = max_of(begin, (min_of(ox.end, s.out_width) - ox.begin) * s.channels);
  const std::int64_t all = (ox.end - ox.begin) * s.channels, before = ox.begin * s.channels;
  const auto first = static_cast<std::int32_t>(corner), count = static_cast<std::int32_t>(s.window);
  for (std::int64_t i = 0; i < begin; ++i) to.column[i] = -1;
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int32_t position = index[before + i] - first;
    to.dy[i] = widen(dy[before + i]);
    to.column[i] = position >= 0 && position < count ? position : -1;
  }
  for (std::int64_t i = end; i < all; ++i) to.column[i] = -1;
}

// For each of `pixels` pixels of dx from `first` on (possibly outside the image), copies the last window that covers it or
// would cover it. Earlier windows that cover it are the last windows of pixels to the left.
void spread(Line& to, const Line& windows, const PoolShape& s, std::int64_t first_window, std::int64_t first,
            std::int64_t pixels) {
  std::int64_t from = 0, next = (first_window + 1) * s.stride - s.padding - first;  // the pixel at which the next window starts
  for (std::int64_t p = 0; p < pixels; ++p) {
    if (p == next) {
      from += s.channels;
      next += s.stride;
    }
    // Copies whole vectors: the next pixel overwrites the excess.
    __builtin_memcpy(to.dy + p * s.channels, windows.dy + from, kFewChannels * sizeof(float));
    __builtin_memcpy(to.column + p * s.channels, windows.column + from, kFewChannels * sizeof(float));
  }
}

// The same as gather_pixels, for few channels: vectorized along the row.
void gather_row(Real* dx, const Real* dy, const std::uint8_t* index, const PoolShape& s, std::int64_t n, std::int64_t row) {
  const Range rows = windows_over(row, s.window, s.stride, s.padding, s.out_height);
  const std::int64_t taps = (s.window + s.stride - 1) / s.stride, halo = (taps - 1) * s.stride;
  const std::int64_t pixels_at_once = kRowTile / s.channels;
  Line windows, line;
  float sum[kRowTile];
  std::int32_t column[kRowTile];
  for (std::int64_t x = 0; x < s.width; x += pixels_at_once) {
    const std::int64_t pixels = min_of(pixels_at_once, s.width - x), elements = pixels * s.channels;
    auto in_window = static_cast<std::int32_t>((x + s.padding) % s.stride);
    for (std::int64_t p = 0; p < pixels; ++p) {
      for (std::int64_t c = 0; c < s.channels; ++c) column[p * s.channels + c] = in_window;
      in_window = in_window + 1 == s.stride ? 0 : in_window + 1;
    }
    for (std::int64_t i = 0; i < elements; ++i) sum[i] = 0;
    for (std::int64_t oy = rows.begin; oy < rows.end; ++oy) {
      const std::int64_t out = (n * s.out_height + oy) * s.out_width * s.channels;
      const Range ox{(x + s.padding) / s.stride - (taps - 1), (x + pixels - 1 + s.padding) / s.stride + 1};
      read_windows(windows, dy + out, index + out, s, (row + s.padding - oy * s.stride) * s.window, ox);
      spread(line, windows, s, ox.begin, x - halo, pixels + halo);
      for (std::int64_t tap = taps - 1; tap >= 0; --tap) {  // windows from left to right
        const float* value = line.dy + (taps - 1 - tap) * s.stride * s.channels;
        const std::int32_t* at = line.column + (taps - 1 - tap) * s.stride * s.channels;
        const auto before = static_cast<std::int32_t>(tap * s.stride);
#pragma omp simd
        for (std::int64_t i = 0; i < elements; ++i) sum[i] += at[i] == column[i] + before ? value[i] : 0;
      }
    }
    Real* to = dx + ((n * s.height + row) * s.width + x) * s.channels;
#pragma omp simd
    for (std::int64_t i = 0; i < elements; ++i) to[i] = narrow(sum[i]);
  }
}

// The rows of dx from window row `oy` to the next, where windows do not overlap. `offsets`: of each position in a window.
void scatter_row(Real* dx, const Real* dy, const std::uint8_t* index, const PoolShape& s, std::int64_t oy,
                 const std::int64_t* offsets) {
  const std::int64_t top = oy * s.stride - s.padding, row_elements = s.width * s.channels;
  const std::int64_t begin = oy == 0 ? 0 : top, end = oy + 1 == s.out_height ? s.height : min_of(top + s.stride, s.height);
  __builtin_memset(dx + begin * row_elements, 0, sizeof(Real) * static_cast<std::size_t>((end - begin) * row_elements));
  for (std::int64_t ox = 0; ox < s.out_width; ++ox) {
    const std::int64_t first = top * row_elements + (ox * s.stride - s.padding) * s.channels;
    const std::int64_t at = (oy * s.out_width + ox) * s.channels;
    for (std::int64_t c = 0; c < s.channels; ++c) dx[first + c + offsets[index[at + c]]] = dy[at + c];
  }
}

void scatter(Real* dx, const Real* dy, const std::uint8_t* index, const PoolShape& s, Range window_rows) {
  std::int64_t offsets[kMaxSpan * kMaxSpan];
  for (std::int64_t i = 0; i < s.window * s.window; ++i) offsets[i] = (i / s.window * s.width + i % s.window) * s.channels;
  for (std::int64_t row = window_rows.begin; row < window_rows.end; ++row) {
    const std::int64_t image = row / s.out_height, before = image * s.out_height * s.out_width * s.channels;
    scatter_row(dx + image * s.height * s.width * s.channels, dy + before, index + before, s, row % s.out_height, offsets);
  }
}

}  // namespace

void max_pool_grad(Real* dx, const Real* dy, const std::uint8_t* index, const PoolShape& shape, int threads) {
  const PoolShape s = shape;
#pragma omp parallel num_threads(threads) if (s.batch * s.height * s.width * s.channels > kSerialElements)
  if (s.channels < kFewChannels && s.stride >= s.window) {
    scatter(dx, dy, index, s, part_of(s.batch * s.out_height, omp_get_thread_num(), omp_get_num_threads(), 1));
  } else {
    const Range rows = part_of(s.batch * s.height, omp_get_thread_num(), omp_get_num_threads(), 1);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const std::int64_t image = row / s.height, before = image * s.out_height * s.out_width * s.channels;
      if (s.channels < kFewChannels)
        gather_row(dx, dy, index, s, image, row % s.height);
      else
        gather_pixels(dx + row * s.width * s.channels, dy + before, index + before, s, row % s.height);
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
