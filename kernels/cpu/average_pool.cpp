// The mean over windows in NHWC and its gradient, bound by memory bandwidth. Windows of 3x3 are computed kTile at a time from
// the sums of their columns, which stay in registers.
#include <omp.h>

#include "kernels/cpu/depthwise.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/pool_window.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

namespace {

constexpr std::int64_t kMaxWindow = 16;

// The number of rows or columns of a window at `corner` by which the sum is divided.
std::int64_t divisor(std::int64_t corner, std::int64_t extent, const PoolShape& s) {
  return s.zeros ? s.window : min_of(corner + s.window, extent) - max_of(corner, 0);
}
float share_of_row(std::int64_t oy, const PoolShape& s) {
  return 1 / static_cast<float>(divisor(oy * s.stride - s.padding, s.height, s));
}
float share_of_column(std::int64_t ox, const PoolShape& s) {
  return 1 / static_cast<float>(divisor(ox * s.stride - s.padding, s.width, s));
}

// Functions take rows by value: the compiler must assume that a vector store changes what a reference refers to.
//
// One row of y, [out_width, channels], of the image x.
struct ForwardRow {
  Real* y;
  const Real* x;
  std::int64_t oy;
  PoolShape s;
};

template <int kStride, bool kEdge>
void forward_tile(ForwardRow r, std::int64_t ox) {
  constexpr int kColumns = (kTile - 1) * kStride + 3;
  const PoolShape s = r.s;
  const std::int64_t top = r.oy * kStride - s.padding, left = ox * kStride - s.padding;
  const Range rows{max_of(top, 0), min_of(top + 3, s.height)};
  float share[kTile];
  for (int p = 0; p < kTile; ++p) share[p] = share_of_row(r.oy, s) * share_of_column(ox + p, s);
  across_channels(s.channels, [=](auto part, std::int64_t c) {
    using Sum = decltype(load(part, r.x));
    Sum sum[kColumns] = {};
    for (std::int64_t iy = rows.begin; iy < rows.end; ++iy) {
      const Real* from = r.x + (iy * s.width + left) * s.channels + c;
#pragma GCC unroll 16
      for (int column = 0; column < kColumns; ++column)
        if (!kEdge || (left + column >= 0 && left + column < s.width)) sum[column] += load(part, from + column * s.channels);
    }
#pragma GCC unroll 8
    for (int p = 0; p < kTile; ++p) {
      const Sum all = sum[p * kStride] + sum[p * kStride + 1] + sum[p * kStride + 2];
      store(part, r.y + (ox + p) * s.channels + c, all * share[p]);
    }
  });
}

// One pixel, for every size.
void forward_pixel(ForwardRow r, std::int64_t ox) {
  const PoolShape s = r.s;
  const Window w = clip(s, r.oy, ox);
  const Real* corner = r.x + ((r.oy * s.stride - s.padding) * s.width + ox * s.stride - s.padding) * s.channels;
  const float share = share_of_row(r.oy, s) * share_of_column(ox, s);
  across_channels(s.channels, [=](auto part, std::int64_t c) {
    decltype(load(part, r.x)) sum{};
    for (std::int64_t ky = w.first_row; ky < w.last_row; ++ky)
      for (std::int64_t kx = w.first_column; kx < w.last_column; ++kx)
        sum += load(part, corner + (ky * s.width + kx) * s.channels + c);
    store(part, r.y + ox * s.channels + c, sum * share);
  });
}

// One row of dx, [width, channels], from the image's dy.
struct GradRow {
  Real* dx;
  const Real* dy;
  Range rows;           // of windows that cover it
  const float* of_row;  // the share of each
  PoolShape s;
};

// With 3x3 windows and stride 1, kTile + 2 columns of windows cover pixels [ix, ix + kTile).
template <bool kEdge>
void grad_tile(GradRow r, std::int64_t ix) {
  constexpr int kColumns = kTile + 2;
  const PoolShape s = r.s;
  const std::int64_t left = ix + s.padding - 2;
  float share[kColumns];
  for (int column = 0; column < kColumns; ++column)
    share[column] = kEdge && (left + column < 0 || left + column >= s.out_width) ? 0 : share_of_column(left + column, s);
  across_channels(s.channels, [=](auto part, std::int64_t c) {
    using Sum = decltype(load(part, r.dy));
    Sum sum[kColumns] = {};
    for (std::int64_t oy = r.rows.begin; oy < r.rows.end; ++oy) {
      const Real* from = r.dy + (oy * s.out_width + left) * s.channels + c;
      const float of_row = r.of_row[oy - r.rows.begin];
#pragma GCC unroll 16
      for (int column = 0; column < kColumns; ++column)
        if (!kEdge || (left + column >= 0 && left + column < s.out_width))
          sum[column] += load(part, from + column * s.channels) * of_row;
    }
#pragma GCC unroll 16
    for (int column = 0; column < kColumns; ++column) sum[column] = sum[column] * share[column];
#pragma GCC unroll 8
    for (int p = 0; p < kTile; ++p) store(part, r.dx + (ix + p) * s.channels + c, sum[p] + sum[p + 1] + sum[p + 2]);
  });
}

// One pixel, from the windows that cover it. kRowsOver, kColumnsOver: how many rows and columns of them, or 0 for any number.
template <int kRowsOver, int kColumnsOver>
void grad_of_windows(GradRow r, std::int64_t ix, Range columns, const float* of_column) {
  const PoolShape s = r.s;
  const Real* first = r.dy + (r.rows.begin * s.out_width + columns.begin) * s.channels;
  const std::int64_t rows_over = kRowsOver > 0 ? kRowsOver : r.rows.end - r.rows.begin;
  const std::int64_t columns_over = kColumnsOver > 0 ? kColumnsOver : columns.end - columns.begin;
  across_channels(s.channels, [=](auto part, std::int64_t c) {
    decltype(load(part, r.dy)) sum{};
    for (std::int64_t oy = 0; oy < rows_over; ++oy)
      for (std::int64_t ox = 0; ox < columns_over; ++ox)
        sum += load(part, first + (oy * s.out_width + ox) * s.channels + c) * (r.of_row[oy] * of_column[ox]);
    store(part, r.dx + ix * s.channels + c, sum);
  });
}

// One pixel, for every size.
void grad_pixel(const GradRow& r, std::int64_t ix) {
  const Range columns = windows_over(ix, r.s.window, r.s.stride, r.s.padding, r.s.out_width);
  float of_column[kMaxWindow];
  for (std::int64_t ox = columns.begin; ox < columns.end; ++ox) of_column[ox - columns.begin] = share_of_column(ox, r.s);
  with_windows(r.rows, columns, [&](auto rows_over, auto columns_over) {
    grad_of_windows<rows_over.value, columns_over.value>(r, ix, columns, of_column);
  });
}

template <int kStride>
void forward_row(const ForwardRow& r) {
  for_each_tile(
      r.s.out_width,
      [&](std::int64_t ox) {
        const std::int64_t left = ox * kStride - r.s.padding;
        if (left >= 0 && left + (kTile - 1) * kStride + 3 <= r.s.width)
          forward_tile<kStride, false>(r, ox);
        else
          forward_tile<kStride, true>(r, ox);
      },
      [&](std::int64_t ox) { forward_pixel(r, ox); });
}

void grad_row(const GradRow& r) {
  for_each_tile(
      r.s.width,
      [&](std::int64_t ix) {
        const std::int64_t left = ix + r.s.padding - 2;
        if (left >= 0 && left + kTile + 2 <= r.s.out_width)
          grad_tile<false>(r, ix);
        else
          grad_tile<true>(r, ix);
      },
      [&](std::int64_t ix) { grad_pixel(r, ix); });
}

}  // namespace

// Without PoolShape::zeros every window must overlap the image.
void average_pool(Real* y, const Real* x, const PoolShape& shape, int threads) {
  const PoolShape s = shape;
#pragma omp parallel num_threads(threads) if (s.batch * s.out_height * s.out_width * s.channels > kSerialElements)
  {
    const Range part = part_of(s.batch * s.out_height, omp_get_thread_num(), omp_get_num_threads(), 1);
    for (std::int64_t row = part.begin; row < part.end; ++row) {
      const ForwardRow r{y + row * s.out_width * s.channels, x + row / s.out_height * s.height * s.width * s.channels,
                         row % s.out_height, s};
      if (s.window == 3 && s.stride == 1)
        forward_row<1>(r);
      else if (s.window == 3 && s.stride == 2)
        forward_row<2>(r);
      else
        for (std::int64_t ox = 0; ox < s.out_width; ++ox) forward_pixel(r, ox);
    }
  }
}

void average_pool_grad(Real* dx, const Real* dy, const PoolShape& shape, int threads) {
  const PoolShape s = shape;
#pragma omp parallel num_threads(threads) if (s.batch * s.height * s.width * s.channels > kSerialElements)
  {
    const Range part = part_of(s.batch * s.height, omp_get_thread_num(), omp_get_num_threads(), 1);
    for (std::int64_t row = part.begin; row < part.end; ++row) {
      const std::int64_t iy = row % s.height;
      const Range rows = windows_over(iy, s.window, s.stride, s.padding, s.out_height);
      float of_row[kMaxWindow];
      for (std::int64_t oy = rows.begin; oy < rows.end; ++oy) of_row[oy - rows.begin] = share_of_row(oy, s);
      const GradRow r{dx + row * s.width * s.channels, dy + row / s.height * s.out_height * s.out_width * s.channels, rows,
                      of_row, s};
      if (rows.begin >= rows.end)
        __builtin_memset(r.dx, 0, static_cast<std::size_t>(s.width * s.channels) * sizeof(Real));  // in no window
      else if (s.window == 3 && s.stride == 1)
        grad_row(r);
      else
        for (std::int64_t ix = 0; ix < s.width; ++ix) grad_pixel(r, ix);
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
