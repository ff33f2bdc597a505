// Code shared by the depthwise convolutions: images as rows of pixels, and loops over channels in registers.
//
// A kernel visits the pixels of kRows rows in tiles of kTile, and for each tile the channels, a register at a time. The sums of
// a tile stay in registers for all taps, so a row of the other tensor is loaded once for kRows rows of this one, and memory is
// read in order. Rows that a window shares with the next one stay in the L2 cache.
//
// A tile accesses too few addresses in a row for the hardware to prefetch, so each tile prefetches what the window below it
// needs.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cpu/lanes.h"
#include "kernels/cpu/rows.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// Pixels and rows whose sums are computed together: with one row of taps for each, they fit in the 32 or 16 registers.
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

// Whether a register of channels is the first of a cache line, so that only this one prefetches the line.
static inline bool begins_line(std::int64_t c) { return c % (64 / kRealBytes) == 0; }

// Prefetches kPixels pixels of a line of channels in each of kLines rows, `row` apart, from p on: into the L2 cache to be read,
// since a window of rows is processed before they are needed, or into the L1 cache to be written.
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

// Calls body(first channel, channels) for each block of channels, which all tiles of a row visit before the next one. With 5x5
// taps, the window of a few channels stays in the L1 cache, where neighboring tiles find the columns that they share. With 3x3
// there is little to share, and a 7x7 window is too large: blocks would cost a fifth there.
constexpr std::int64_t kBlockChannels = 64;
template <int kKernel, typename Body>
static inline void for_each_block(std::int64_t channels, Body body) {
  const std::int64_t block = kKernel == 5 ? kBlockChannels : channels;
  for (std::int64_t c = 0; c < channels; c += block) body(c, min_of(block, channels - c));
}

// Whether to store an output past the caches: if they cannot hold it. A store through the caches reads the line first, which
// for the larger tensor at stride 2 is most of the traffic. With AVX-512 a register of floats is a whole line.
constexpr std::int64_t kBytesOfCaches = std::int64_t{32} << 20;
static inline bool goes_past_caches([[maybe_unused]] const Real* y, [[maybe_unused]] std::int64_t elements,
                                    [[maybe_unused]] std::int64_t channels) {
#if defined(__AVX512F__) && !EPOCHBENCH_BF16
  return elements * kRealBytes > kBytesOfCaches && channels % kWhole == 0 && reinterpret_cast<std::uintptr_t>(y) % 64 == 0;
#else
  return false;
#endif
}
// Orders such stores before what the thread does next.
static inline void wait_for_stores() {
#if defined(__AVX512F__) && !EPOCHBENCH_BF16
  _mm_sfence();
#endif
}
template <typename Part, typename Sum>
static inline void store_past(Part part, Real* p, Sum x) {
  if constexpr (std::is_same_v<Part, Whole>)
    store_past_caches(part, p, x);
  else
    store(part, p, x);
}

// Calls tile(first pixel) for tiles of kTile that cover a row of `width` pixels; the last one may overlap the one before it and
// repeat its results. If a row is shorter than a tile, calls pixel(x) for each pixel.
template <typename Tile, typename Pixel>
static inline void for_each_tile(std::int64_t width, Tile tile, Pixel pixel) {
  if (width < kTile) {
    for (std::int64_t x = 0; x < width; ++x) pixel(x);
    return;
  }
  for (std::int64_t x = 0; x < width; x += kTile) tile(min_of(x, width - kTile));
}

// Calls rows.operator()<count>(image, first row) for `part` of the rows of all images, `height` per image: in groups of kRows
// rows of one image that begin where row + phase is a multiple of kRows, and one by one where no group fits.
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

// Calls run.operator()<kKernel, kStride>() and returns true if there is specialized code for the shape; otherwise returns
// false.
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
