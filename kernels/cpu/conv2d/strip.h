// A strip: the rows of an image that a block of output rows reads, laid out so that every tap of a convolution is a matrix
// whose rows (output pixels) have one stride and whose columns (channels) are contiguous. If the image has padding on the left
// or right, or a stride that conflicts in the cache, or where Reals must be widened, the strip is a copy surrounded by zeros;
// otherwise it is the image itself. Rows above and below the image are not part of it: their taps are skipped.
//
// The elements of a strip are either Reals (Element), multiplied as words along the channels, or words that hold the same
// number of two images (for float: of one), multiplied along the pixels. With many channels, a strip of words is a panel: a
// copy of as many of them as the vectors of one tile hold. Pixels that are all channels apart would share a few sets of the
// caches.
#pragma once

#include "kernels/cpu/gemm/pack.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// Images [batch, height, width, channels] and the windows that slide over them: window (0, 0) starts at (first_row,
// first_column), which may be outside the image, and covers [kernel_height, kernel_width].
struct Windows {
  const Real* images;
  std::int64_t batch, height, width, channels;
  std::int64_t rows, columns;  // of windows
  std::int64_t kernel_height, kernel_width, stride, first_row, first_column;
};

// From this many channels on, a tap is long enough to be a separate run, the distance between pixels can suit the cache, and
// strips of words are panels.
constexpr std::int64_t kLongRun = 64;

enum class StripOf : std::uint8_t {
  reals,         // an odd number of channels is padded to whole words
  packed_reals,  // like reals, but a kernel row is padded as a whole, provided that windows still start at whole words
  image_words,   // from kLongRun channels on, a panel of kNr of them
};

struct StripLayout {
  bool copied;
  std::int64_t panel;                     // maximum channels of a strip; all channels if it is not a panel
  std::int64_t columns;                   // pixels of a row
  std::int64_t row_step, column_step;     // image rows or pixels from one row or pixel of the strip to the next
  std::int64_t pixel_stride, row_stride;  // in elements
  // A run is a contiguous sequence of taps in the strip: a whole kernel row, or the channels of one tap.
  std::int64_t runs_per_row, run;
  std::int64_t block_rows, blocks;  // rows of windows per strip, strips per image
  std::int64_t elements;            // size of a copied strip, including what vectors may read past its end
};

// The preferred size of strips.
struct StripSize {
  std::int64_t bytes;               // approximate size, chosen to fit a cache
  std::int64_t windows, max_bytes;  // at least this many windows, unless they take more than max_bytes
};

// parts: number of threads that process strips.
StripLayout make_strip_layout(const Windows& windows, StripOf elements, const StripSize& size, int parts);

template <typename Number>
struct StripOfNumbers {
  const Number* data;               // at row first_row and column windows.first_column; points to words if StripOf::image_words
  std::int64_t first_row, end_row;  // range of image rows in the strip
};
using Strip = StripOfNumbers<Element>;

// The row range of the strip of window rows [rows.begin, rows.end) of one image, and its data in the image.
StripOfNumbers<Real> find_strip(const Windows& windows, std::int64_t image, Range rows);
// The strip of window rows [rows.begin, rows.end) of one image; `scratch` [layout.elements] is used if the strip is a copy.
Strip make_strip(const Windows& windows, const StripLayout& layout, std::int64_t image, Range rows, Element* scratch);
// The same for some channels, one panel or all, as words of `images` images (1 to kWordDepth), starting with `image`.
Strip make_word_strip(const Windows& windows, const StripLayout& layout, Range channels, std::int64_t image,
                      std::int64_t images, Range rows, Word* scratch);

// to[pixel * to_stride + i] = the words of from[pixel * from_stride + i] and of the same numbers of the other images, for i
// below `numbers`, then zeros up to a multiple of kLanes, which may not exceed to_stride.
void pack_pixels(Word* to, std::int64_t to_stride, const Real* from, std::int64_t from_stride, std::int64_t image_stride,
                 std::int64_t images, std::int64_t pixels, std::int64_t numbers);

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
