// A strip: the rows of an image that a block of output rows looks at, so that every tap of a convolution is a matrix whose
// rows (output pixels) lie at one stride and whose columns (channels) are contiguous. Where the image has padding left or
// right, or a stride that the cache minds, the strip is a copy with zeros around; else it is the image itself. Rows above
// and below the image are left out instead: their taps are skipped.
//
// The elements of a strip are either Reals, to be multiplied in words along the channels, or words that hold the same number of
// two images (in float: of one), to be multiplied along the pixels.
#pragma once

#include "kernels/cpu/gemm/pack.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// Images [batch, height, width, channels], and the windows that slide over them: window (0, 0) begins at (first_row,
// first_column), which may lie outside, and covers [kernel_height, kernel_width].
struct Windows {
  const Real* images;
  std::int64_t batch, height, width, channels;
  std::int64_t rows, columns;  // of windows
  std::int64_t kernel_height, kernel_width, stride, first_row, first_column;
};

enum class StripOf : std::uint8_t {
  reals,         // an odd number of channels is padded to whole words
  packed_reals,  // the same, but the row of a kernel as a whole, where windows begin at whole words all the same
  words,
};

struct StripLayout {
  bool copied;
  std::int64_t columns;                   // pixels of a row
  std::int64_t row_step, column_step;     // of the image from one row or pixel of the strip to the next
  std::int64_t pixel_stride, row_stride;  // in elements
  // A run is a stretch of taps that is contiguous in the strip: the whole row of a kernel, or a tap's channels.
  std::int64_t runs_per_row, run;
  std::int64_t block_rows, blocks;  // rows of windows a strip serves, and how many strips cover an image
  std::int64_t elements;            // of a copied strip, and what vectors may read past its end
};

// How large strips should be.
struct StripSize {
  std::int64_t bytes;                // about, for the sake of some cache
  std::int64_t windows, most_bytes;  // but serving at least so many windows, if that takes no more than so many bytes
};

// parts: how many threads want strips.
StripLayout make_strip_layout(const Windows& windows, StripOf elements, const StripSize& size, int parts);

struct Strip {
  const Real* data;                 // of row first_row and of column windows.first_column, or words there
  std::int64_t first_row, end_row;  // rows of the image that are there
};

// The strip of window rows [rows.begin, rows.end) of one image; `scratch`, for layout.elements, is used if it is copied.
Strip make_strip(const Windows& windows, const StripLayout& layout, std::int64_t image, Range rows, Real* scratch);
// The same in words, of `images` images (1 to kWordDepth) from `image` on.
Strip make_word_strip(const Windows& windows, const StripLayout& layout, std::int64_t image, std::int64_t images, Range rows,
                      Word* scratch);

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
