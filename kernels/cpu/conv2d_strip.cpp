// How large strips are, and how they are made.
#include "kernels/cpu/conv2d_strip.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {
namespace {

// From this many channels on, a tap is long enough to be a run of its own, and pixels may lie apart as the cache likes.
constexpr std::int64_t kLongRun = 64;
// Strips a thread should have to choose from, so that all finish at about the same time.
constexpr std::int64_t kStripsPerPart = 4;

void zero(float* p, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(p + i, zero_vector());
  for (; i < n; ++i) p[i] = 0;
}

}  // namespace

StripLayout make_strip_layout(const Windows& windows, const StripSize& size, int parts, bool whole_vectors) {
  StripLayout layout{};
  const std::int64_t channels = windows.channels, width = windows.kernel_width;
  layout.columns = (windows.columns - 1) * windows.stride + width;
  const bool merged = channels < kLongRun || width <= 1;
  layout.runs_per_row = merged ? 1 : width;
  layout.run = merged ? width * channels : channels;
  layout.copied = windows.first_column < 0 || windows.first_column + layout.columns > windows.width ||
                  rows_conflict(windows.stride * channels, min_of(windows.columns, kMaxRows[2])) ||
                  (whole_vectors && layout.run % kLanes != 0);
  layout.pixel_stride = channels;
  // An odd number of cache lines between pixels spreads them over all sets.
  if (layout.copied && channels >= kLongRun && channels % 32 == 0) layout.pixel_stride += 16;
  layout.row_stride = (layout.copied ? layout.columns : windows.width) * layout.pixel_stride;

  const std::int64_t row_bytes = max_of(layout.row_stride, 1) * static_cast<std::int64_t>(sizeof(float));
  const auto rows_in = [&](std::int64_t bytes) { return (bytes / row_bytes - windows.kernel_height) / windows.stride + 1; };
  std::int64_t rows = max_of(rows_in(size.bytes), min_of(divide_up(size.windows, windows.columns), rows_in(size.most_bytes)));
  rows = min_of(rows, windows.batch * windows.rows / (kStripsPerPart * parts));
  rows = min_of(max_of(rows, 1), windows.rows);
  layout.blocks = divide_up(windows.rows, rows);
  layout.block_rows = divide_up(windows.rows, layout.blocks);
  layout.blocks = divide_up(windows.rows, layout.block_rows);
  const std::int64_t strip_rows = (layout.block_rows - 1) * windows.stride + windows.kernel_height;
  layout.floats = layout.copied ? round_up(strip_rows * layout.row_stride + kMaxVectors * kLanes, 16) : 0;
  return layout;
}

Strip make_strip(const Windows& windows, const StripLayout& layout, std::int64_t image, Range rows, float* scratch) {
  Strip strip{};
  strip.first_row = min_of(max_of(rows.begin * windows.stride + windows.first_row, 0), windows.height);
  strip.end_row = min_of((rows.end - 1) * windows.stride + windows.first_row + windows.kernel_height, windows.height);
  strip.end_row = max_of(strip.end_row, strip.first_row);
  const std::int64_t row_floats = windows.width * windows.channels;
  const float* source = windows.images + (image * windows.height + strip.first_row) * row_floats;
  if (!layout.copied) {
    strip.data = source + windows.first_column * windows.channels;
    return strip;
  }
  strip.data = scratch;
  const std::int64_t left = min_of(max_of(-windows.first_column, 0), layout.columns);
  const std::int64_t end = max_of(min_of(windows.width - windows.first_column, layout.columns), left);
  for (std::int64_t row = strip.first_row; row < strip.end_row; ++row, scratch += layout.row_stride, source += row_floats) {
    zero(scratch, left * layout.pixel_stride);
    const float* from = source + (windows.first_column + left) * windows.channels;
    float* to = scratch + left * layout.pixel_stride;
    if (layout.pixel_stride == windows.channels) {
      copy_rows(to, 0, from, 0, 1, (end - left) * windows.channels);
    } else {
      copy_rows(to, layout.pixel_stride, from, windows.channels, end - left, windows.channels);
    }
    zero(scratch + end * layout.pixel_stride, (layout.columns - end) * layout.pixel_stride);
  }
  return strip;
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
