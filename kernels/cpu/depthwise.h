// What the depthwise convolutions share: images as rows of pixels, and loops over channels in registers.
//
// A kernel visits the pixels of a row in tiles of kTile, and for each tile the channels, a register at a time. The sums of a
// tile stay in registers while its taps pass, so an input is loaded once per row of the kernel and a weight once per tile, and
// memory is read in order. The rows of the input that a row of the output needs stay in the caches for the next one.
#pragma once

#include "kernels/cpu/lanes.h"
#include "kernels/cpu/rows.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// Pixels whose sums are computed together: with the taps of a row of the kernel they fit 16 registers.
constexpr std::int64_t kTile = 4;

// body(part, c) for each register of channels, or each channel.
template <typename Body>
static inline void across_channels(std::int64_t channels, Body body) {
#if defined(__AVX512F__)
  across_registers(channels, body);
#else
  across(channels, body);
#endif
}

// Taps [begin, end) of the kernel along one axis that are inside an input of `extent`, if tap 0 is at `corner`.
static inline Range taps_inside(std::int64_t corner, std::int64_t taps, std::int64_t extent) {
  const std::int64_t end = min_of(taps, extent - corner);
  return {min_of(max_of(0, -corner), max_of(end, 0)), max_of(end, 0)};
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
