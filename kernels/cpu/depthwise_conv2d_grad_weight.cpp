// The gradient of the weight of a depthwise convolution: for each tap and channel, a sum over all pixels. Each thread sums its
// rows, a few at a time in float and the total in double; the sums of the threads are added in thread order.
#include <omp.h>

#include "kernels/cpu/depthwise.h"
#include "kernels/cpu/kernels.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

namespace {

// Pixels that are summed in float before the sums are added in double, which costs as much as a few pixels.
constexpr std::int64_t kPixelsInFloat = 256;

std::int64_t taps_of(const Conv2dShape& s) { return s.kernel_height * s.kernel_width * s.channels; }

struct TapSums {
  double* total;  // [taps, channels]
  float* recent;  // [taps, channels]
};
constexpr std::int64_t kThreadBytes = sizeof(double) + sizeof(float);  // per tap and channel
std::int64_t padded_taps(const Conv2dShape& s) { return (taps_of(s) + 15) / 16 * 16; }
TapSums sums_of(void* workspace, const Conv2dShape& s, int thread) {
  const std::int64_t taps = padded_taps(s);
  auto* total = reinterpret_cast<double*>(static_cast<char*>(workspace) + thread * kThreadBytes * taps);
  return {total, reinterpret_cast<float*>(total + taps)};
}

// Rows of dy, [out_width, channels] each, with the window of x that the first of them reads, as in the forward pass, and
// likewise passed by value.
struct SumRows {
  float* sums;
  const Real *dy, *x;
  Range inside;
  std::int64_t row, out_row, width, channels, count, padding;  // count: channels from the pointers on
};

// Adds pixels [ox, ox + kTile) of kCount rows.
template <int kKernel, int kStride, int kCount, bool kEdge>
void add_tile(SumRows r, std::int64_t ox) {
  constexpr int kColumns = (kTile - 1) * kStride + kKernel, kWindow = (kCount - 1) * kStride + kKernel;
  constexpr int kLast = (kCount - 1) * kStride;  // rows of x between the windows of the first and the last row
  const std::int64_t left = ox * kStride - r.padding;
  const unsigned outside = kEdge ? columns_outside<kColumns>(left, r.width) : 0;
  across_channels(r.count, [=](auto part, std::int64_t c) {
    using Sum = decltype(load(part, r.x));
    const Real *from = r.x + left * r.channels + c, *grad = r.dy + ox * r.channels + c;
    float* to = r.sums + c;
    if (begins_line(c)) {
      prefetch_to_read<kCount * kStride, kTile * kStride>(from + kWindow * r.row + r.padding * r.channels, r.row, r.channels);
      prefetch_to_read<kCount, kTile>(grad + kCount * r.out_row, r.out_row, r.channels);
    }
    Sum g[kCount][kTile];
#pragma GCC unroll 2
    for (int i = 0; i < kCount; ++i)
#pragma GCC unroll 8
      for (int p = 0; p < kTile; ++p) g[i][p] = load(part, grad + i * r.out_row + p * r.channels);
    Sum sum[kLast + 1][kKernel];  // [i]: of row y - i of the taps
#pragma GCC unroll 16
    for (int y = 0; y < kWindow; ++y) {
#pragma GCC unroll 8
      for (int kx = 0; kx < kKernel; ++kx) {
#pragma GCC unroll 2
        for (int i = kLast; i > 0; --i) sum[i][kx] = sum[i - 1][kx];
        if (y < kKernel) sum[0][kx] = load(part, to + (y * kKernel + kx) * r.channels);
      }
      if (y >= r.inside.begin && y < r.inside.end) {
#pragma GCC unroll 16
        for (int column = 0; column < kColumns; ++column) {
          if (kEdge && (outside >> column & 1) != 0) continue;
          const Sum value = load(part, from + y * r.row + column * r.channels);
#pragma GCC unroll 2
          for (int i = 0; i < kCount; ++i)
#pragma GCC unroll 8
            for (int p = 0; p < kTile; ++p)
              if (y >= i * kStride && y < i * kStride + kKernel && column >= p * kStride && column < p * kStride + kKernel)
                sum[i * kStride][column - p * kStride] += g[i][p] * value;
        }
      }
      if (y < kLast) continue;
#pragma GCC unroll 8
      for (int kx = 0; kx < kKernel; ++kx) store_float(part, to + ((y - kLast) * kKernel + kx) * r.channels, sum[kLast][kx]);
    }
  });
}

// One pixel, for any kernel size.
void add_pixel(float* sums, const Real* dy, const Real* x, const Conv2dShape& s, std::int64_t oy, std::int64_t ox) {
  const std::int64_t top = oy * s.stride - s.padding, left = ox * s.stride - s.padding;
  const Range inside_y = taps_inside(top, s.kernel_height, s.height), inside_x = taps_inside(left, s.kernel_width, s.width);
  for (std::int64_t ky = inside_y.begin; ky < inside_y.end; ++ky)
    for (std::int64_t kx = inside_x.begin; kx < inside_x.end; ++kx) {
      float* to = sums + (ky * s.kernel_width + kx) * s.channels;
      const Real* grad = dy + (oy * s.out_width + ox) * s.channels;
      const Real* from = x + ((top + ky) * s.width + left + kx) * s.channels;
      across_channels(s.channels, [=](auto part, std::int64_t c) {
        store_float(part, to + c, load(part, to + c) + load(part, grad + c) * load(part, from + c));
      });
    }
}

// kCount rows of dy from row oy on; dy and x belong to one image.
template <int kKernel, int kStride, int kCount>
void add_rows(float* sums, const Real* dy, const Real* x, const Conv2dShape& s, std::int64_t oy) {
  const std::int64_t row = s.width * s.channels, out_row = s.out_width * s.channels, top = oy * kStride - s.padding;
  const Range inside = taps_inside(top, (kCount - 1) * kStride + kKernel, s.height);
  const std::int64_t whole = s.out_width / kTile * kTile;
  for_each_block<kKernel>(s.channels, [&](std::int64_t c, std::int64_t count) {
    const SumRows r = {sums + c, dy + oy * out_row + c, x + top * row + c, inside, row, out_row, s.width, s.channels, count,
                       s.padding};
    for (std::int64_t ox = 0; ox < whole; ox += kTile) {
      const std::int64_t left = ox * kStride - s.padding;
      if (left >= 0 && left + (kTile - 1) * kStride + kKernel <= s.width)
        add_tile<kKernel, kStride, kCount, false>(r, ox);
      else
        add_tile<kKernel, kStride, kCount, true>(r, ox);
    }
  });
  for (int i = 0; i < kCount; ++i)
    for (std::int64_t ox = whole; ox < s.out_width; ++ox) add_pixel(sums, dy, x, s, oy + i, ox);
}

void flush(const TapSums& s, std::int64_t taps) {
#pragma omp simd
  for (std::int64_t i = 0; i < taps; ++i) {
    s.total[i] += s.recent[i];
    s.recent[i] = 0;
  }
}

// The sums of rows [part.begin, part.end) of dy, counted over all images. add.operator()<count>(image, first row) adds some.
template <typename Add>
void sum_rows(const TapSums& sums, const Conv2dShape& s, Range part, Add add) {
  const std::int64_t taps = taps_of(s);
  for (std::int64_t i = 0; i < taps; ++i) sums.total[i] = sums.recent[i] = 0;
  std::int64_t pixels = 0;
  for_each_rows(part, s.out_height, 0, [&]<int kCount>(std::int64_t n, std::int64_t oy) {
    add.template operator()<kCount>(sums.recent, n, oy);
    pixels += kCount * s.out_width;
    if (pixels < kPixelsInFloat) return;
    flush(sums, taps);
    pixels = 0;
  });
  flush(sums, taps);
}

template <typename Add>
void sum_all(Real* dweight, const Conv2dShape& s, void* workspace, int threads, Add add) {
#pragma omp parallel num_threads(threads) if (s.batch * s.out_height * s.out_width * s.channels > kSerialElements)
  {
    const int thread = omp_get_thread_num(), team = omp_get_num_threads();
    sum_rows(sums_of(workspace, s, thread), s, part_of(s.batch * s.out_height, thread, team, 1), add);
#pragma omp barrier
    const Range mine = part_of(taps_of(s), thread, team, 16);
    for (std::int64_t i = mine.begin; i < mine.end; ++i) {
      double total = 0;
      for (int t = 0; t < team; ++t) total += sums_of(workspace, s, t).total[i];
      dweight[i] = narrow(static_cast<float>(total));
    }
  }
}

}  // namespace

std::size_t depthwise_conv2d_grad_weight_workspace_bytes(const Conv2dShape& shape, int threads) {
  return static_cast<std::size_t>(threads * kThreadBytes * padded_taps(shape));
}

void depthwise_conv2d_grad_weight(Real* dweight, const Real* dy, const Real* x, const Conv2dShape& s, void* workspace,
                                  int threads) {
  const std::int64_t image = s.height * s.width * s.channels, out_image = s.out_height * s.out_width * s.channels;
  if (with_known_size(s, [&]<int kKernel, int kStride>() {
        sum_all(dweight, s, workspace, threads, [&]<int kCount>(float* sums, std::int64_t n, std::int64_t oy) {
          add_rows<kKernel, kStride, kCount>(sums, dy + n * out_image, x + n * image, s, oy);
        });
      }))
    return;
  sum_all(dweight, s, workspace, threads, [&]<int kCount>(float* sums, std::int64_t n, std::int64_t oy) {
    for (std::int64_t i = 0; i < kCount * s.out_width; ++i)
      add_pixel(sums, dy + n * out_image, x + n * image, s, oy + i / s.out_width, i % s.out_width);
  });
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
