// Operands of products that sum over pixels, packed for AMX tiles. A word holds the same pixel of two images, so that it serves
// every tap and stride. Only in builds with AMX tiles.
#pragma once

#include "kernels/cpu/gemm/tiles_amx.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// Words of two tile registers of transposed A: 32 channels by 16 words.
constexpr std::int64_t kTransposedStep = kTilePair * kTileDepth;

// Elements of images [batch, height, width, channels]: element (i, j) is the `run` Reals that start at pixel (first_row + i *
// step, first_column + j * step) and continue along the row. Anything outside the row or the image is zero.
struct PixelGrid {
  const Real* images;
  std::int64_t batch, height, width, channels;
  std::int64_t first_row, first_column, step, run;
};

// Rows [begin, end) of the grid of one pair of images, `columns` elements each. The last image of an odd batch is paired with
// zeros.
struct PixelBlock {
  std::int64_t pair;
  Range rows;
  std::int64_t columns;
};

// dst[(row * columns + column) * stride + channel] = the words of channels [first, first + 32 * panels) of the block, as B. The
// channels of 32 are in the order of `interleaved_column`; those past the run are zero.
void interleave_pixels(Word* dst, std::int64_t stride, const PixelGrid& grid, const PixelBlock& block, std::int64_t first,
                       std::int64_t panels);

// Transposes the block, as A: dst[(step * 32 + channel) * 16 + word] for `steps` steps of 16 words of pixels and for each 32
// channels from `first` on, whose words are `panel_stride` apart. A row has `width` words, and the block has the first
// `columns` of them; the others, and those past the last row, are zero. `run` must be `channels`.
void transpose_pixels(Word* dst, std::int64_t panel_stride, const PixelGrid& grid, const PixelBlock& block, std::int64_t width,
                      std::int64_t steps, std::int64_t first, std::int64_t panels);

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
