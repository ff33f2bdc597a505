// The gradient of the weight of a depthwise convolution: for each tap and channel, a sum over all pixels. Each thread sums its
// rows, some in float and then those in double; the sums of the threads are added in their order.
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

// Row oy of dy, [out_width, channels], with the rows of x that it reads, as in the forward pass; by value as there.
struct SumRow {
  float* sums;
  const Real *dy, *x;
  Range ky;
  std::int64_t row, width, channels, kernel_width, stride, padding;
};

// Adds pixels [ox, ox + kTile).
template <int kKernel, int kStride, bool kEdge>
void add_tile(SumRow r, std::int64_t ox) {
  constexpr std::int64_t kColumns = (kTile - 1) * kStride + kKernel;
  const std::int64_t left = ox * kStride - r.padding;
  across_channels(r.channels, [=](auto part, std::int64_t c) {
    using Sum = decltype(load(part, r.x));
    Sum g[kTile];
#pragma GCC unroll 8
    for (int p = 0; p < kTile; ++p) g[p] = load(part, r.dy + (ox + p) * r.channels + c);
    for (std::int64_t ky = r.ky.begin; ky < r.ky.end; ++ky) {
      const Real* from = r.x + ky * r.row + left * r.channels + c;
      float* to = r.sums + ky * kKernel * r.channels + c;
      Sum sum[kKernel];
#pragma GCC unroll 8
      for (int kx = 0; kx < kKernel; ++kx) sum[kx] = load(part, to + kx * r.channels);
#pragma GCC unroll 16
      for (int column = 0; column < kColumns; ++column) {
        if (kEdge && (left + column < 0 || left + column >= r.width)) continue;
        const Sum value = load(part, from + column * r.channels);
#pragma GCC unroll 8
        for (int p = 0; p < kTile; ++p)
          if (column - p * kStride >= 0 && column - p * kStride < kKernel) sum[column - p * kStride] += g[p] * value;
      }
#pragma GCC unroll 8
      for (int kx = 0; kx < kKernel; ++kx) store_float(part, to + kx * r.channels, sum[kx]);
    }
  });
}

// One pixel, for every size.
void add_pixel(SumRow r, std::int64_t ox) {
  const std::int64_t left = ox * r.stride - r.padding;
  const Range kx_inside = taps_inside(left, r.kernel_width, r.width);
  for (std::int64_t ky = r.ky.begin; ky < r.ky.end; ++ky)
    for (std::int64_t kx = kx_inside.begin; kx < kx_inside.end; ++kx)
      across_channels(r.channels, [=](auto part, std::int64_t c) {
        float* to = r.sums + (ky * r.kernel_width + kx) * r.channels + c;
        const auto product =
            load(part, r.dy + ox * r.channels + c) * load(part, r.x + ky * r.row + (left + kx) * r.channels + c);
        store_float(part, to, load(part, to) + product);
      });
}

template <int kKernel, int kStride>
void add_row(const SumRow& r, std::int64_t out_width) {
  const std::int64_t whole = out_width / kTile * kTile;
  for (std::int64_t ox = 0; ox < whole; ox += kTile) {
    const std::int64_t left = ox * kStride - r.padding;
    if (left >= 0 && left + (kTile - 1) * kStride + kKernel <= r.width)
      add_tile<kKernel, kStride, false>(r, ox);
    else
      add_tile<kKernel, kStride, true>(r, ox);
  }
  for (std::int64_t ox = whole; ox < out_width; ++ox) add_pixel(r, ox);
}

void flush(const TapSums& s, std::int64_t taps) {
#pragma omp simd
  for (std::int64_t i = 0; i < taps; ++i) {
    s.total[i] += s.recent[i];
    s.recent[i] = 0;
  }
}

// The sums of rows [part.begin, part.end) of all images' rows of dy. add(row) adds one.
template <typename Add>
void sum_rows(const TapSums& sums, const Real* dy, const Real* x, const Conv2dShape& s, Range part, Add add) {
  const std::int64_t taps = taps_of(s), row = s.width * s.channels;
  for (std::int64_t i = 0; i < taps; ++i) sums.total[i] = sums.recent[i] = 0;
  std::int64_t pixels = 0;
  for (std::int64_t i = part.begin; i < part.end; ++i) {
    const std::int64_t n = i / s.out_height, top = i % s.out_height * s.stride - s.padding;
    add(SumRow{sums.recent, dy + i * s.out_width * s.channels, x + (n * s.height + top) * row,
               taps_inside(top, s.kernel_height, s.height), row, s.width, s.channels, s.kernel_width, s.stride, s.padding});
    pixels += s.out_width;
    if (pixels < kPixelsInFloat) continue;
    flush(sums, taps);
    pixels = 0;
  }
  flush(sums, taps);
}

template <typename Add>
void sum_all(Real* dweight, const Real* dy, const Real* x, const Conv2dShape& s, void* workspace, int threads, Add add) {
#pragma omp parallel num_threads(threads) if (s.batch * s.out_height * s.out_width * s.channels > kSerialElements)
  {
    const int thread = omp_get_thread_num(), team = omp_get_num_threads();
    sum_rows(sums_of(workspace, s, thread), dy, x, s, part_of(s.batch * s.out_height, thread, team, 1), add);
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

void depthwise_conv2d_grad_weight(Real* dweight, const Real* dy, const Real* x, const Conv2dShape& shape, void* workspace,
                                  int threads) {
  const Conv2dShape s = shape;
  if (with_known_size(s, [&]<int kKernel, int kStride>() {
        sum_all(dweight, dy, x, s, workspace, threads, [&](const SumRow& r) { add_row<kKernel, kStride>(r, s.out_width); });
      }))
    return;
  sum_all(dweight, dy, x, s, workspace, threads, [&](const SumRow& r) {
    for (std::int64_t ox = 0; ox < s.out_width; ++ox) add_pixel(r, ox);
  });
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
