// Chooses the size of strips and fills them.
#include "kernels/cpu/conv2d/strip.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {
namespace {

// Number of strips per thread, so that all threads finish at about the same time.
constexpr std::int64_t kStripsPerPart = 4;

void zero(Element* p, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + kLanes * kWordDepth <= n; i += kLanes * kWordDepth) store(reinterpret_cast<Word*>(p + i), zero_word_vec());
  for (; i < n; ++i) p[i] = Element{};
}

// dst[i] = the words of src[i] and of the same numbers of the other images.
void pair_images(Word* dst, const Real* src, std::int64_t image_stride, std::int64_t images, std::int64_t n) {
  std::int64_t i = 0;
  if (images == kWordDepth)
    for (; i + kLanes <= n; i += kLanes) store(dst + i, load_across(src + i, image_stride));
  for (; i < n; i += kLanes) {
    const std::int64_t count = min_of(kLanes, n - i);
    store_partial(dst + i, load_across_partial(src + i, image_stride, count, images), count);
  }
}

// The strip in the image.
Strip strip_in_place(const Windows& windows, std::int64_t image, Range rows) {
  const StripOfNumbers<Real> found = find_strip(windows, image, rows);
  return {reinterpret_cast<const Element*>(found.data), found.first_row, found.end_row};
}

// Fills a strip whose elements have `element` Elements each. copy(to, from, n): n pixels of the image.
template <typename Copy>
Strip fill_strip(const Windows& windows, const StripLayout& layout, std::int64_t image, Range rows, Element* scratch,
                 std::int64_t element, const Copy& copy) {
  const StripOfNumbers<Real> found = find_strip(windows, image, rows);
  const Real* source = found.data;
  const Strip strip{scratch, found.first_row, found.end_row};
  const std::int64_t pixel = layout.pixel_stride * element, row_length = layout.row_stride * element;
  const std::int64_t left = min_of(max_of(-windows.first_column, 0), layout.columns);
  const std::int64_t inside = divide_up(max_of(windows.width - windows.first_column, 0), layout.column_step);
  const std::int64_t end = max_of(min_of(inside, layout.columns), left);
  for (std::int64_t row = strip.first_row; row < strip.end_row; row += layout.row_step) {
    zero(scratch, left * pixel);
    copy(scratch + left * pixel, source + left * windows.channels, end - left);
    zero(scratch + end * pixel, row_length - end * pixel);
    scratch += row_length;
    source += layout.row_step * windows.width * windows.channels;
  }
  return strip;
}

}  // namespace

StripOfNumbers<Real> find_strip(const Windows& windows, std::int64_t image, Range rows) {
  StripOfNumbers<Real> strip{};
  strip.first_row = min_of(max_of(rows.begin * windows.stride + windows.first_row, 0), windows.height);
  strip.end_row = min_of((rows.end - 1) * windows.stride + windows.first_row + windows.kernel_height, windows.height);
  strip.end_row = max_of(strip.end_row, strip.first_row);
  strip.data =
      windows.images + ((image * windows.height + strip.first_row) * windows.width + windows.first_column) * windows.channels;
  return strip;
}

StripLayout make_strip_layout(const Windows& windows, StripOf elements, const StripSize& size, int parts) {
  StripLayout layout{};
  const std::int64_t channels = windows.channels, width = windows.kernel_width;
  const bool as_words = elements == StripOf::image_words, panels = as_words && channels >= kLongRun;
  const bool merged = !panels && (channels < kLongRun || width <= 1);
  const std::int64_t element_bytes = as_words ? sizeof(Word) : sizeof(Element), depth = as_words ? 1 : kWordDepth;
  const bool packed = elements == StripOf::packed_reals && merged && width > 1 && channels % depth != 0 &&
                      windows.stride * channels % depth == 0;
  layout.panel = panels ? kNr : channels;
  layout.pixel_stride = packed ? channels : round_up(layout.panel, depth);
  layout.runs_per_row = merged ? 1 : width;
  layout.run = merged ? (width - 1) * layout.pixel_stride + channels : layout.panel;
  layout.columns = (windows.columns - 1) * windows.stride + width;
  layout.copied = kWidens || panels || windows.first_column < 0 || windows.first_column + layout.columns > windows.width ||
                  rows_conflict(windows.stride * layout.pixel_stride / depth, min_of(windows.columns, kMr[2])) ||
                  channels % depth != 0 || (as_words && (kWordDepth > 1 || layout.run % kLanes != 0));
  layout.row_step = layout.column_step = 1;
  if (layout.copied && windows.kernel_height == 1 && windows.first_row >= 0) layout.row_step = windows.stride;
  if (layout.copied && width == 1 && windows.first_column >= 0) {
    layout.column_step = windows.stride;
    layout.columns = windows.columns;
  }
  if (width == 0) layout.run = 0;
  // An odd number of cache lines between pixels distributes them over all cache sets.
  const std::int64_t line = 64 / element_bytes;
  if (layout.copied && !panels && channels >= kLongRun && channels % (2 * line) == 0) layout.pixel_stride += line;
  layout.row_stride = (layout.copied ? layout.columns : windows.width) * layout.pixel_stride;
  if (packed)
    layout.row_stride =
        round_up(layout.row_stride + depth - 1, depth);  // the last word of the last run may extend past the row

  const std::int64_t row_bytes = max_of(layout.row_stride, 1) * element_bytes, step = windows.stride / layout.row_step;
  const auto rows_in = [&](std::int64_t bytes) { return (bytes / row_bytes - windows.kernel_height) / step + 1; };
  std::int64_t rows = max_of(rows_in(size.bytes), min_of(divide_up(size.windows, windows.columns), rows_in(size.max_bytes)));
  rows = min_of(rows, windows.batch * windows.rows / (kStripsPerPart * parts));
  rows = min_of(max_of(rows, 1), windows.rows);
  layout.blocks = divide_up(windows.rows, rows);
  layout.block_rows = divide_up(windows.rows, layout.blocks);
  layout.blocks = divide_up(windows.rows, layout.block_rows);
  const std::int64_t strip_rows = (layout.block_rows - 1) * step + windows.kernel_height;
  layout.elements = layout.copied ? round_up(strip_rows * layout.row_stride + kMaxVectors * kLanes * depth, line) : 0;
  return layout;
}

Strip make_strip(const Windows& windows, const StripLayout& layout, std::int64_t image, Range rows, Element* scratch) {
  if (!layout.copied) return strip_in_place(windows, image, rows);
  const std::int64_t channels = windows.channels;
  return fill_strip(windows, layout, image, rows, scratch, 1, [&](Element* to, const Real* from, std::int64_t pixels) {
    Word* const target = reinterpret_cast<Word*>(to);
    if (layout.pixel_stride == channels && layout.column_step == 1) {
      copy_rows(target, 0, from, 0, 1, pixels * channels);
    } else {
      copy_rows(target, layout.pixel_stride / kWordDepth, from, layout.column_step * channels, pixels, channels);
    }
  });
}

Strip make_word_strip(const Windows& windows, const StripLayout& layout, Range channels, std::int64_t image,
                      std::int64_t images, Range rows, Word* scratch) {
  if (!layout.copied) return strip_in_place(windows, image, rows);
  const std::int64_t image_stride = windows.height * windows.width * windows.channels;
  const std::int64_t numbers = channels.end - channels.begin;
  const auto copy = [&](Element* to, const Real* from, std::int64_t pixels) {
    Word* const target = reinterpret_cast<Word*>(to);
    if (layout.pixel_stride == windows.channels && layout.column_step == 1) {
      pair_images(target, from, image_stride, images, pixels * numbers);
    } else if (layout.panel < windows.channels) {
      pack_pixels(target, layout.pixel_stride, from, layout.column_step * windows.channels, image_stride, images, pixels,
                  numbers);
    } else {
      for (std::int64_t i = 0; i < pixels; ++i)
        pair_images(target + i * layout.pixel_stride, from + i * layout.column_step * numbers, image_stride, images, numbers);
    }
  };
  Windows of_channels = windows;
  of_channels.images += channels.begin;
  return fill_strip(of_channels, layout, image, rows, reinterpret_cast<Element*>(scratch), kWordDepth, copy);
}

void pack_pixels(Word* to, std::int64_t to_stride, const Real* from, std::int64_t from_stride, std::int64_t image_stride,
                 std::int64_t images, std::int64_t pixels, std::int64_t numbers) {
  if (numbers == kNr && images == kWordDepth) {
    for (std::int64_t i = 0; i < pixels; ++i, to += to_stride, from += from_stride) {
      store(to, load_across(from, image_stride));
      store(to + kLanes, load_across(from + kLanes, image_stride));
    }
  } else {
    for (std::int64_t at = 0; at < numbers; at += kLanes)
      for (std::int64_t i = 0; i < pixels; ++i)
        store(to + i * to_stride + at, load_across_partial(from + i * from_stride + at, image_stride, numbers - at, images));
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
