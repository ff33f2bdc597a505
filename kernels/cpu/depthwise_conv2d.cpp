// Depthwise convolution in NHWC and the gradient of its input, bound by memory bandwidth (depthwise.h says how). Both are sums
// over taps in the order of the input's pixels, so a result does not depend on how pixels and threads divide the work.
#include <omp.h>

#include "kernels/cpu/depthwise.h"
#include "kernels/cpu/kernels.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

namespace {

// Functions take rows by value: the compiler must assume that a store of vectors changes what a reference leads to.
//
// One row of the output, [out_width, channels], from the rows of the input that it reads: tap (ky, kx) of pixel ox reads
// x[ky * row + (ox * stride - padding + kx) * channels].
struct ForwardRow {
  Real* y;
  const Real *x, *weight;
  Range ky;  // of the taps that are inside the image
  std::int64_t row, width, channels, kernel_width, stride, padding;
};

// kEdge: some taps are outside the row.
template <int kKernel, int kStride, bool kEdge>
void forward_tile(ForwardRow r, std::int64_t ox) {
  constexpr std::int64_t kColumns = (kTile - 1) * kStride + kKernel;
  const std::int64_t left = ox * kStride - r.padding;
  across_channels(r.channels, [=](auto part, std::int64_t c) {
    using Sum = decltype(load(part, r.x));
    Sum sum[kTile] = {};
    for (std::int64_t ky = r.ky.begin; ky < r.ky.end; ++ky) {
      const Real* from = r.x + ky * r.row + left * r.channels + c;
      const Real* taps = r.weight + ky * kKernel * r.channels + c;
      Sum w[kKernel];
#pragma GCC unroll 8
      for (int kx = 0; kx < kKernel; ++kx) w[kx] = load(part, taps + kx * r.channels);
#pragma GCC unroll 16
      for (int column = 0; column < kColumns; ++column) {
        if (kEdge && (left + column < 0 || left + column >= r.width)) continue;
        const Sum value = load(part, from + column * r.channels);
#pragma GCC unroll 8
        for (int p = 0; p < kTile; ++p)
          if (column - p * kStride >= 0 && column - p * kStride < kKernel) sum[p] += value * w[column - p * kStride];
      }
    }
#pragma GCC unroll 8
    for (int p = 0; p < kTile; ++p) store(part, r.y + (ox + p) * r.channels + c, sum[p]);
  });
}

// One pixel, for every size.
void forward_pixel(ForwardRow r, std::int64_t ox) {
  const std::int64_t left = ox * r.stride - r.padding;
  const Range kx_inside = taps_inside(left, r.kernel_width, r.width);
  across_channels(r.channels, [=](auto part, std::int64_t c) {
    decltype(load(part, r.x)) sum{};
    for (std::int64_t ky = r.ky.begin; ky < r.ky.end; ++ky)
      for (std::int64_t kx = kx_inside.begin; kx < kx_inside.end; ++kx)
        sum += load(part, r.x + ky * r.row + (left + kx) * r.channels + c) *
               load(part, r.weight + (ky * r.kernel_width + kx) * r.channels + c);
    store(part, r.y + ox * r.channels + c, sum);
  });
}

// One row of dx, [width, channels]. Along an axis with stride s, pixel i is read by the taps k with k = i + padding modulo s,
// at output (i + padding - k) / s. So the pixels of one remainder, `phase`, are a convolution of dy with every s-th tap.
struct GradRow {
  Real* dx;
  const Real *dy, *weight;  // the image's dy [out_height, out_width, channels]
  std::int64_t iy, row, out_height, out_width, width, channels, kernel_height, kernel_width, stride, padding;
};

// visit(ky, dy's row) for the taps that reach row iy of the input.
template <typename Visit>
inline void for_each_tap_row(GradRow r, Visit visit) {
  for (std::int64_t ky = (r.iy + r.padding) % r.stride; ky < r.kernel_height; ky += r.stride) {
    const std::int64_t oy = (r.iy + r.padding - ky) / r.stride;
    if (oy >= 0 && oy < r.out_height && r.iy + r.padding >= ky) visit(ky, r.dy + oy * r.row);
  }
}

// Pixels ix, ix + kStride .. of dx, kTile of them; (ix + padding) % kStride is kPhase.
template <int kKernel, int kStride, int kPhase, bool kEdge>
void grad_tile(GradRow r, std::int64_t ix) {
  constexpr int kTaps = (kKernel - kPhase + kStride - 1) / kStride, kColumns = kTile - 1 + kTaps;
  const std::int64_t left = (ix + r.padding - kPhase) / kStride - (kTaps - 1);  // the first column of dy
  across_channels(r.channels, [=](auto part, std::int64_t c) {
    using Sum = decltype(load(part, r.dy));
    Sum sum[kTile] = {};
    for_each_tap_row(r, [&](std::int64_t ky, const Real* dy_row) {
      const Real* from = dy_row + left * r.channels + c;
      const Real* taps = r.weight + (ky * kKernel + kPhase) * r.channels + c;
      Sum w[kTaps];
#pragma GCC unroll 8
      for (int t = 0; t < kTaps; ++t) w[t] = load(part, taps + t * kStride * r.channels);
#pragma GCC unroll 16
      for (int column = 0; column < kColumns; ++column) {
        if (kEdge && (left + column < 0 || left + column >= r.out_width)) continue;
        const Sum value = load(part, from + column * r.channels);
#pragma GCC unroll 8
        for (int p = 0; p < kTile; ++p)
          if (kTaps - 1 + p - column >= 0 && kTaps - 1 + p - column < kTaps) sum[p] += value * w[kTaps - 1 + p - column];
      }
    });
#pragma GCC unroll 8
    for (int p = 0; p < kTile; ++p) store(part, r.dx + (ix + p * kStride) * r.channels + c, sum[p]);
  });
}

// One pixel, for every size.
void grad_pixel(GradRow r, std::int64_t ix) {
  across_channels(r.channels, [=](auto part, std::int64_t c) {
    decltype(load(part, r.dy)) sum{};
    for_each_tap_row(r, [&](std::int64_t ky, const Real* dy_row) {
      std::int64_t kx = (ix + r.padding) % r.stride;
      if (kx >= r.kernel_width) return;
      for (kx += (r.kernel_width - 1 - kx) / r.stride * r.stride; kx >= 0; kx -= r.stride) {  // dy from left to right
        const std::int64_t ox = (ix + r.padding - kx) / r.stride;
        if (ix + r.padding < kx || ox >= r.out_width) continue;
        sum += load(part, dy_row + ox * r.channels + c) * load(part, r.weight + (ky * r.kernel_width + kx) * r.channels + c);
      }
    });
    store(part, r.dx + ix * r.channels + c, sum);
  });
}

template <int kKernel, int kStride>
void forward_row(const ForwardRow& r, std::int64_t out_width) {
  for_each_tile(
      out_width,
      [&](std::int64_t ox) {
        const std::int64_t left = ox * kStride - r.padding;
        if (left >= 0 && left + (kTile - 1) * kStride + kKernel <= r.width)
          forward_tile<kKernel, kStride, false>(r, ox);
        else
          forward_tile<kKernel, kStride, true>(r, ox);
      },
      [&](std::int64_t ox) { forward_pixel(r, ox); });
}

template <int kKernel, int kStride, int kPhase>
void grad_phase(const GradRow& r) {
  constexpr std::int64_t kTaps = (kKernel - kPhase + kStride - 1) / kStride;
  const std::int64_t begin = ((kPhase - r.padding) % kStride + kStride) % kStride;
  const std::int64_t pixels = r.width > begin ? (r.width - begin + kStride - 1) / kStride : 0;
  for_each_tile(
      pixels,
      [&](std::int64_t first) {
        const std::int64_t ix = begin + first * kStride, last = (ix + r.padding - kPhase) / kStride;
        if (last - (kTaps - 1) >= 0 && last + kTile <= r.out_width)
          grad_tile<kKernel, kStride, kPhase, false>(r, ix);
        else
          grad_tile<kKernel, kStride, kPhase, true>(r, ix);
      },
      [&](std::int64_t pixel) { grad_pixel(r, begin + pixel * kStride); });
}

template <int kKernel, int kStride>
void grad_row(const GradRow& r) {
  grad_phase<kKernel, kStride, 0>(r);
  if constexpr (kStride == 2) grad_phase<kKernel, kStride, 1>(r);
}

// row(image, row of `height`) for the rows of this thread.
template <typename Row>
void divide_rows(std::int64_t batch, std::int64_t height, std::int64_t elements, int threads, Row row) {
#pragma omp parallel num_threads(threads) if (elements > kSerialElements)
  {
    const Range part = part_of(batch * height, omp_get_thread_num(), omp_get_num_threads(), 1);
    for (std::int64_t i = part.begin; i < part.end; ++i) row(i / height, i % height);
  }
}

}  // namespace

void depthwise_conv2d(Real* y, const Real* x, const Real* weight, const Conv2dShape& shape, int threads) {
  const Conv2dShape s = shape;
  const auto rows = [&](auto run) {
    divide_rows(s.batch, s.out_height, s.batch * s.out_height * s.out_width * s.channels, threads,
                [=](std::int64_t n, std::int64_t oy) {
                  const std::int64_t row = s.width * s.channels, top = oy * s.stride - s.padding;
                  const ForwardRow r = {y + (n * s.out_height + oy) * s.out_width * s.channels,
                                        x + (n * s.height + top) * row,
                                        weight,
                                        taps_inside(top, s.kernel_height, s.height),
                                        row,
                                        s.width,
                                        s.channels,
                                        s.kernel_width,
                                        s.stride,
                                        s.padding};
                  run(r);
                });
  };
  if (with_known_size(s, [&]<int kKernel, int kStride>() {
        rows([=](const ForwardRow& r) { forward_row<kKernel, kStride>(r, s.out_width); });
      }))
    return;
  rows([=](const ForwardRow& r) {
    for (std::int64_t ox = 0; ox < s.out_width; ++ox) forward_pixel(r, ox);
  });
}

void depthwise_conv2d_grad_input(Real* dx, const Real* dy, const Real* weight, const Conv2dShape& shape, int threads) {
  const Conv2dShape s = shape;
  const auto rows = [&](auto run) {
    divide_rows(s.batch, s.height, s.batch * s.height * s.width * s.channels, threads, [=](std::int64_t n, std::int64_t iy) {
      const std::int64_t row = s.out_width * s.channels;
      const GradRow r = {dx + (n * s.height + iy) * s.width * s.channels,
                         dy + n * s.out_height * row,
                         weight,
                         iy,
                         row,
                         s.out_height,
                         s.out_width,
                         s.width,
                         s.channels,
                         s.kernel_height,
                         s.kernel_width,
                         s.stride,
                         s.padding};
      run(r);
    });
  };
  if (with_known_size(s, [&]<int kKernel, int kStride>() { rows([=](const GradRow& r) { grad_row<kKernel, kStride>(r); }); }))
    return;
  rows([=](const GradRow& r) {
    for (std::int64_t ix = 0; ix < s.width; ++ix) grad_pixel(r, ix);
  });
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
