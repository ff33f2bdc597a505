// Depthwise convolution in NHWC and the gradient of its input, bound by memory bandwidth (see depthwise.h). Both are sums over
// taps in the order of the pixels that they read, so a result does not depend on how the work is divided into tiles and among
// threads.
#include <omp.h>

#include "kernels/cpu/depthwise.h"
#include "kernels/cpu/kernels.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

namespace {

// Functions take rows by value: the compiler must assume that a vector store changes what a reference refers to.
//
// Rows of the output, out_row elements apart, and the window that the first of them reads: tap (ky, kx) of pixel ox reads
// x[ky * row + (ox * stride - padding + kx) * channels].
struct Window {
  Real* y;
  const Real *x, *weight;  // weight: of the first tap; the next one is `tap` further, which is below 0 from last to first
  Range inside;            // rows of the windows inside the image, counted from row 0 of the first window
  std::int64_t row, out_row, width, channels, count, padding, tap;  // count: channels from y, x and weight on
  bool past;                                                        // y is stored past the caches
};

// Pixels [ox, ox + kTile) of kCount rows. kEdge: some taps are outside the row.
template <int kKernel, int kStride, int kCount, bool kEdge>
void window_tile(Window r, std::int64_t ox) {
  constexpr int kColumns = (kTile - 1) * kStride + kKernel, kWindow = (kCount - 1) * kStride + kKernel;
  const std::int64_t left = ox * kStride - r.padding;
  const unsigned outside = kEdge ? columns_outside<kColumns>(left, r.width) : 0;
  across_channels(r.count, [=](auto part, std::int64_t c) {
    using Sum = decltype(load(part, r.x));
    const Real* from = r.x + left * r.channels + c;
    Real* to = r.y + ox * r.channels + c;
    if (begins_line(c)) {
      prefetch_to_read<kCount * kStride, kTile * kStride>(from + kWindow * r.row + r.padding * r.channels, r.row, r.channels);
      if (!r.past) prefetch_to_write<kCount, kTile>(to + kCount * r.out_row, r.out_row, r.channels);
    }
    Sum sum[kCount][kTile] = {};
    Sum w[kCount][kKernel];  // taps of each output row for the current input row
#pragma GCC unroll 16
    for (int y = 0; y < kWindow; ++y) {
#pragma GCC unroll 8
      for (int kx = 0; kx < kKernel; ++kx) {
        const int tap = y * kKernel + kx;
        if (kCount == 2 && kStride == 1) w[kCount - 1][kx] = w[0][kx];
        if (y < kKernel) w[0][kx] = load(part, r.weight + tap * r.tap + c);
        if (kCount == 2 && kStride == 2 && y >= kStride)
          w[kCount - 1][kx] = load(part, r.weight + (tap - kStride * kKernel) * r.tap + c);
      }
      if (y < r.inside.begin || y >= r.inside.end) continue;
#pragma GCC unroll 16
      for (int column = 0; column < kColumns; ++column) {
        if (kEdge && (outside >> column & 1) != 0) continue;
        const Sum value = load(part, from + y * r.row + column * r.channels);
#pragma GCC unroll 2
        for (int i = 0; i < kCount; ++i)
#pragma GCC unroll 8
          for (int p = 0; p < kTile; ++p)
            if (y >= i * kStride && y < i * kStride + kKernel && column >= p * kStride && column < p * kStride + kKernel)
              sum[i][p] += value * w[i][column - p * kStride];
      }
    }
    const auto store_all = [&](auto store_one) {
#pragma GCC unroll 2
      for (int i = 0; i < kCount; ++i)
#pragma GCC unroll 8
        for (int p = 0; p < kTile; ++p) store_one(to + i * r.out_row + p * r.channels, sum[i][p]);
    };
    if (r.past)
      store_all([=](Real* at, Sum value) { store_past(part, at, value); });
    else
      store_all([=](Real* at, Sum value) { store(part, at, value); });
  });
}

template <int kKernel, int kStride, int kCount>
void window_tile_at(const Window& r, std::int64_t ox) {
  const std::int64_t left = ox * kStride - r.padding;
  if (left >= 0 && left + (kTile - 1) * kStride + kKernel <= r.width)
    window_tile<kKernel, kStride, kCount, false>(r, ox);
  else
    window_tile<kKernel, kStride, kCount, true>(r, ox);
}

// One pixel of the forward pass, for any kernel size.
void forward_pixel(Real* y, const Real* x, const Real* weight, const Conv2dShape& s, std::int64_t oy, std::int64_t ox) {
  const std::int64_t top = oy * s.stride - s.padding, left = ox * s.stride - s.padding, channels = s.channels;
  const Range inside_y = taps_inside(top, s.kernel_height, s.height), inside_x = taps_inside(left, s.kernel_width, s.width);
  const std::int64_t width = s.width, kernel_width = s.kernel_width;
  Real* to = y + (oy * s.out_width + ox) * channels;
  across_channels(channels, [=](auto part, std::int64_t c) {
    decltype(load(part, x)) sum{};
    for (std::int64_t ky = inside_y.begin; ky < inside_y.end; ++ky)
      for (std::int64_t kx = inside_x.begin; kx < inside_x.end; ++kx)
        sum += load(part, x + ((top + ky) * width + left + kx) * channels + c) *
               load(part, weight + (ky * kernel_width + kx) * channels + c);
    store(part, to + c, sum);
  });
}

// One pixel of dx, for any kernel size: pixel i of an axis is read by the taps k with k = i + padding modulo the stride, at
// output (i + padding - k) / stride.
void grad_pixel(Real* dx, const Real* dy, const Real* weight, const Conv2dShape& shape, std::int64_t iy, std::int64_t ix) {
  const Conv2dShape s = shape;
  const std::int64_t u = iy + s.padding, v = ix + s.padding;
  across_channels(s.channels, [=](auto part, std::int64_t c) {
    decltype(load(part, dy)) sum{};
    for (std::int64_t oy = max_of(0, (u - s.kernel_height) / s.stride); oy <= min_of(u / s.stride, s.out_height - 1); ++oy)
      for (std::int64_t ox = max_of(0, (v - s.kernel_width) / s.stride); ox <= min_of(v / s.stride, s.out_width - 1); ++ox) {
        const std::int64_t ky = u - oy * s.stride, kx = v - ox * s.stride;
        if (ky >= s.kernel_height || kx >= s.kernel_width) continue;
        sum += load(part, dy + (oy * s.out_width + ox) * s.channels + c) *
               load(part, weight + (ky * s.kernel_width + kx) * s.channels + c);
      }
    store(part, dx + (iy * s.width + ix) * s.channels + c, sum);
  });
}

// For stride 2: pixel u = i + padding of an axis, with u = 2 a + phase, is read by tap 2 t + phase at output a - t. So for each
// of two phases per axis, dx is a convolution of dy with every second tap, and all four read the same pixels.
struct Spread {
  Real* dx;  // the first of the kCount rows
  const Real *dy, *weight;
  Range inside;  // rows of dy inside the image, counted from row a - (taps - 1)
  std::int64_t row, out_row, width, out_width, channels, padding;
  bool past;  // dx is stored past the caches
};

// Rows 2 a + kPhase .. of dx, kCount of them, and pixels 2 b .. 2 (b + kTile) - 1 of each.
template <int kKernel, int kPhase, int kCount, bool kEdge>
void spread_tile(Spread r, std::int64_t b) {
  constexpr int kTaps = (kKernel + 1) / 2, kColumns = kTile - 1 + kTaps;
  const std::int64_t left = b - (kTaps - 1), first = 2 * b - r.padding;
  const unsigned outside = kEdge ? columns_outside<kColumns>(left, r.out_width) : 0;
  const unsigned no_pixel = kEdge ? columns_outside<2 * kTile>(first, r.width) : 0;
  across_channels(r.channels, [=](auto part, std::int64_t c) {
    using Sum = decltype(load(part, r.dy));
    const Real* from = r.dy + left * r.channels + c;
    Real* to = r.dx + first * r.channels + c;
    if (begins_line(c)) {
      prefetch_to_read<1, kTile>(from + kTaps * r.out_row + (kTaps - 1) * r.channels, r.out_row, r.channels);
      if (!r.past) prefetch_to_write<kCount, 2 * kTile>(to + kCount * r.row, r.row, r.channels);
    }
    Sum sum[kCount][2 * kTile] = {};
#pragma GCC unroll 4
    for (int y = 0; y < kTaps; ++y) {
      if (y < r.inside.begin || y >= r.inside.end) continue;
      Sum w[kCount][kKernel];
#pragma GCC unroll 2
      for (int i = 0; i < kCount; ++i)
#pragma GCC unroll 8
        for (int kx = 0; kx < kKernel; ++kx) {
          const int ky = 2 * (kTaps - 1 - y) + kPhase + i;
          if (ky < kKernel) w[i][kx] = load(part, r.weight + (ky * kKernel + kx) * r.channels + c);
        }
#pragma GCC unroll 16
      for (int column = 0; column < kColumns; ++column) {
        if (kEdge && (outside >> column & 1) != 0) continue;
        const Sum value = load(part, from + y * r.out_row + column * r.channels);
#pragma GCC unroll 2
        for (int i = 0; i < kCount; ++i)
#pragma GCC unroll 16
          for (int p = 0; p < 2 * kTile; ++p) {
            const int ky = 2 * (kTaps - 1 - y) + kPhase + i, kx = 2 * (p / 2 + kTaps - 1 - column) + p % 2;
            if (ky < kKernel && kx >= 0 && kx < kKernel) sum[i][p] += value * w[i][kx];
          }
      }
    }
    const auto store_all = [&](auto store_one) {
#pragma GCC unroll 2
      for (int i = 0; i < kCount; ++i)
#pragma GCC unroll 16
        for (int p = 0; p < 2 * kTile; ++p)
          if (!kEdge || (no_pixel >> p & 1) == 0) store_one(to + i * r.row + p * r.channels, sum[i][p]);
    };
    if (r.past)
      store_all([=](Real* at, Sum value) { store_past(part, at, value); });
    else
      store_all([=](Real* at, Sum value) { store(part, at, value); });
  });
}

template <int kKernel, int kPhase, int kCount>
void spread_tile_at(const Spread& r, std::int64_t b) {
  constexpr int kTaps = (kKernel + 1) / 2;
  const std::int64_t first = 2 * b - r.padding;
  if (b >= kTaps - 1 && b + kTile <= r.out_width && first >= 0 && first + 2 * kTile <= r.width)
    spread_tile<kKernel, kPhase, kCount, false>(r, b);
  else
    spread_tile<kKernel, kPhase, kCount, true>(r, b);
}

// kCount rows of y from row oy on; y and x belong to one image.
template <int kKernel, int kStride, int kCount>
void forward_rows(Real* y, const Real* x, const Real* weight, const Conv2dShape& s, bool past, std::int64_t oy) {
  const std::int64_t row = s.width * s.channels, out_row = s.out_width * s.channels, top = oy * kStride - s.padding;
  const Range inside = taps_inside(top, (kCount - 1) * kStride + kKernel, s.height);
  for_each_block<kKernel>(s.channels, [&](std::int64_t c, std::int64_t count) {
    const Window r = {y + oy * out_row + c,
                      x + top * row + c,
                      weight + c,
                      inside,
                      row,
                      out_row,
                      s.width,
                      s.channels,
                      count,
                      s.padding,
                      s.channels,
                      past};
    for_each_tile(
        s.out_width, [&](std::int64_t ox) { window_tile_at<kKernel, kStride, kCount>(r, ox); },
        [&](std::int64_t ox) {
          for (int i = 0; i < kCount && c == 0; ++i) forward_pixel(y, x, weight, s, oy + i, ox);
        });
  });
}

// kCount rows of dx from row iy on. With stride 1, they are a convolution of dy with the taps from last to first.
template <int kKernel, int kStride, int kCount>
void grad_rows(Real* dx, const Real* dy, const Real* weight, const Conv2dShape& s, bool past, std::int64_t iy) {
  const std::int64_t row = s.width * s.channels, out_row = s.out_width * s.channels;
  if constexpr (kStride == 1) {
    const std::int64_t padding = kKernel - 1 - s.padding, top = iy - padding;
    const Range inside = taps_inside(top, kCount - 1 + kKernel, s.out_height);
    for_each_block<kKernel>(s.channels, [&](std::int64_t c, std::int64_t count) {
      const Window r = {dx + iy * row + c,
                        dy + top * out_row + c,
                        weight + (kKernel * kKernel - 1) * s.channels + c,
                        inside,
                        out_row,
                        row,
                        s.out_width,
                        s.channels,
                        count,
                        padding,
                        -s.channels,
                        past};
      for_each_tile(
          s.width, [&](std::int64_t ix) { window_tile_at<kKernel, 1, kCount>(r, ix); },
          [&](std::int64_t ix) {
            for (int i = 0; i < kCount && c == 0; ++i) grad_pixel(dx, dy, weight, s, iy + i, ix);
          });
    });
  } else {
    constexpr int kTaps = (kKernel + 1) / 2;
    const std::int64_t a = (iy + s.padding) / 2, top = a - (kTaps - 1);
    const std::int64_t begin = s.padding / 2, pairs = (s.padding + s.width + 1) / 2 - begin;
    const Spread r = {
        dx + iy * row, dy + top * out_row, weight, taps_inside(top, kTaps, s.out_height), row, out_row, s.width, s.out_width,
        s.channels,    s.padding,          past};
    for_each_tile(
        pairs,
        [&](std::int64_t b) {
          if (kCount == 1 && (iy + s.padding) % 2 == 1)
            spread_tile_at<kKernel, 1, 1>(r, begin + b);
          else
            spread_tile_at<kKernel, 0, kCount>(r, begin + b);
        },
        [&](std::int64_t pair) {
          for (std::int64_t i = 0; i < kCount * 2; ++i) {
            const std::int64_t ix = 2 * (begin + pair) + i % 2 - s.padding;
            if (ix >= 0 && ix < s.width) grad_pixel(dx, dy, weight, s, iy + i / 2, ix);
          }
        });
  }
}

// Calls rows.operator()<count>(image, first row) for the rows of this thread.
template <typename Rows>
void divide_rows(std::int64_t batch, std::int64_t height, std::int64_t phase, std::int64_t elements, int threads, Rows rows) {
#pragma omp parallel num_threads(threads) if (elements > kSerialElements)
  {
    for_each_rows(part_of(batch * height, omp_get_thread_num(), omp_get_num_threads(), 1), height, phase, rows);
    wait_for_stores();
  }
}

}  // namespace

void depthwise_conv2d(Real* y, const Real* x, const Real* weight, const Conv2dShape& s, int threads) {
  const std::int64_t image = s.height * s.width * s.channels, out_image = s.out_height * s.out_width * s.channels;
  const auto divide = [&](auto rows) { divide_rows(s.batch, s.out_height, 0, s.batch * out_image, threads, rows); };
  const bool past = goes_past_caches(y, s.batch * out_image, s.channels);
  if (with_known_size(s, [&]<int kKernel, int kStride>() {
        divide([&]<int kCount>(std::int64_t n, std::int64_t oy) {
          forward_rows<kKernel, kStride, kCount>(y + n * out_image, x + n * image, weight, s, past, oy);
        });
      }))
    return;
  divide([&]<int kCount>(std::int64_t n, std::int64_t oy) {
    for (std::int64_t i = 0; i < kCount * s.out_width; ++i)
      forward_pixel(y + n * out_image, x + n * image, weight, s, oy + i / s.out_width, i % s.out_width);
  });
}

void depthwise_conv2d_grad_input(Real* dx, const Real* dy, const Real* weight, const Conv2dShape& s, int threads) {
  const std::int64_t image = s.height * s.width * s.channels, out_image = s.out_height * s.out_width * s.channels;
  const auto divide = [&](auto rows) { divide_rows(s.batch, s.height, s.padding, s.batch * image, threads, rows); };
  const bool past = goes_past_caches(dx, s.batch * image, s.channels);
  if (with_known_size(s, [&]<int kKernel, int kStride>() {
        divide([&]<int kCount>(std::int64_t n, std::int64_t iy) {
          grad_rows<kKernel, kStride, kCount>(dx + n * image, dy + n * out_image, weight, s, past, iy);
        });
      }))
    return;
  divide([&]<int kCount>(std::int64_t n, std::int64_t iy) {
    for (std::int64_t i = 0; i < kCount * s.width; ++i)
      grad_pixel(dx + n * image, dy + n * out_image, weight, s, iy + i / s.width, i % s.width);
  });
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
