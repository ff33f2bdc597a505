// What the depthwise convolutions share: images as rows of pixels, and loops over channels in registers.
//
// A kernel visits the pixels of kRows rows in tiles of kTile, and for each tile the channels, a register at a time. The sums of
// a tile stay in registers while the taps pass, so a row of the other tensor is loaded once for kRows rows of this one, and
// memory is read in order. Rows that a window shares with the next one stay in the L2 cache.
//
// A tile touches too few addresses in a row for the hardware to prefetch: each tile asks for what the window below it needs.
#pragma once

#include "kernels/cpu/lanes.h"
#include "kernels/cpu/rows.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// Pixels and rows whose sums are computed together: with one row of taps for each they fit the registers, 32 or 16.
constexpr int kTile = 4;
#if defined(__AVX512F__)
constexpr int kRows = 2;
#else
constexpr int kRows = 1;
#endif

// Taps [begin, end) of the kernel along one axis that are inside an input of `extent`, if tap 0 is at `corner`.
static inline Range taps_inside(std::int64_t corner, std::int64_t taps, std::int64_t extent) {
  const std::int64_t end = min_of(taps, extent - corner);
  return {min_of(max_of(0, -corner), max_of(end, 0)), max_of(end, 0)};
}

// Bit i: whether column left + i is outside a row of `width` pixels.
template <int kColumns>
static inline unsigned columns_outside(std::int64_t left, std::int64_t width) {
  unsigned outside = 0;
  for (int i = 0; i < kColumns; ++i) outside |= static_cast<unsigned>(left + i < 0 || left + i >= width) << i;
  return outside;
}

// Whether a register of channels is the first of a cache line, so that one of them asks for the line.
static inline bool begins_line(std::int64_t c) { return c % (64 / kRealBytes) == 0; }

// Asks for kPixels pixels of a line of channels in each of kLines rows, `row` apart, from p on: to the L2 cache, as a window of
// rows passes before they are needed; or to the L1 cache, to be written.
template <int kLines, int kPixels>
static inline void prefetch_to_read(const Real* p, std::int64_t row, std::int64_t channels) {
#pragma GCC unroll 4
  for (int y = 0; y < kLines; ++y)
#pragma GCC unroll 8
    for (int x = 0; x < kPixels; ++x) __builtin_prefetch(p + y * row + x * channels, 0, 2);
}
template <int kLines, int kPixels>
static inline void prefetch_to_write(const Real* p, std::int64_t row, std::int64_t channels) {
#pragma GCC unroll 4
  for (int y = 0; y < kLines; ++y)
#pragma GCC unroll 8
    for (int x = 0; x < kPixels; ++x) __builtin_prefetch(p + y * row + x * channels, 1, 3);
}

// Calls tile(first pixel) for tiles of kTile that cover a row of `width` pixels; the last may overlap the one before it, whose
// results it repeats. A row that is shorter than a tile: pixel(x) for each.
template <typename Tile, typename Pixel>
static inline void for_each_tile(std::int64_t width, Tile tile, Pixel pixel) {
  if (width < kTile) {
    for (std::int64_t x = 0; x < width; ++x) pixel(x);
    return;
  }
  for (std::int64_t x = 0; x < width; x += kTile) tile(min_of(x, width - kTile));
}

// rows.operator()<count>(image, first row) for `part` of all images' rows of `height`: in groups of kRows rows of one image
// that begin where row + phase is a multiple of kRows, and one by one where no group fits.
template <typename Rows>
static inline void for_each_rows(Range part, std::int64_t height, std::int64_t phase, Rows rows) {
  for (std::int64_t i = part.begin; i < part.end;) {
    const std::int64_t row = i % height;
    if ((row + phase) % kRows == 0 && min_of(part.end - i, height - row) >= kRows) {
      rows.template operator()<kRows>(i / height, row);
      i += kRows;
    } else {
      rows.template operator()<1>(i / height, row);
      ++i;
    }
  }
}

// Calls run.operator()<kKernel, kStride>() if the shape is one of those with code of its own; false for others.
template <typename Run>
static inline bool with_known_size(const Conv2dShape& s, Run run) {
  if (s.kernel_height != s.kernel_width || s.stride > 2) return false;
  switch (s.kernel_width * 2 + s.stride) {
    case 3 * 2 + 1:
      run.template operator()<3, 1>();
      return true;
    case 3 * 2 + 2:
      run.template operator()<3, 2>();
      return true;
    case 5 * 2 + 1:
      run.template operator()<5, 1>();
      return true;
    case 5 * 2 + 2:
      run.template operator()<5, 2>();
      return true;
    case 7 * 2 + 1:
      run.template operator()<7, 1>();
      return true;
    case 7 * 2 + 2:
      run.template operator()<7, 2>();
      return true;
    default:
      return false;
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
