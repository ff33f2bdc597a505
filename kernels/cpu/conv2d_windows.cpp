// The loops around the microkernel: strips, passes over the depth, panels of weights, rows, tiles.
#include "kernels/cpu/conv2d_windows.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {
namespace {

// A strip stays in the second-level cache while all panels of weights pass by.
constexpr std::int64_t kStripBytes = 192 * 1024;
// Depth up to which all taps are summed in registers; a deeper product goes over the output in several passes, so that the
// panel of weights in use stays in the second-level cache.
constexpr std::int64_t kDepth = 1024;
constexpr std::int64_t kSegments = 64;

// Runs [begin, end) of the windows, and of each the floats [from, from + k).
struct Chunk {
  Range runs;
  std::int64_t from, k;
  bool first, last;
};

// The segments of one row of windows in the chunk. Returns how many: taps outside of the image have none.
std::int64_t collect(const WindowProduct& product, const Strip& strip, const Chunk& chunk, std::int64_t row, const float* panel,
                     std::int64_t width, Segment* segments) {
  const StripLayout& layout = product.layout;
  std::int64_t tap_row = chunk.runs.begin / layout.runs_per_row, tap_column = chunk.runs.begin % layout.runs_per_row;
  std::int64_t count = 0;
  for (std::int64_t run = chunk.runs.begin; run < chunk.runs.end; ++run) {
    const std::int64_t image_row = row * product.windows.stride + product.windows.first_row + tap_row;
    if (image_row >= strip.first_row && image_row < strip.end_row) {
      const float* a = strip.data + (image_row - strip.first_row) * layout.row_stride + tap_column * layout.pixel_stride;
      segments[count++] = {a + chunk.from, panel + (run * layout.run + chunk.from) * width};
    }
    if (++tap_column == layout.runs_per_row) {
      tap_column = 0;
      ++tap_row;
    }
  }
  return count;
}

void multiply_chunk(const WindowProduct& product, const Strip& strip, const Chunk& chunk, std::int64_t image, Range rows) {
  const Windows& windows = product.windows;
  const std::int64_t depth = windows.kernel_height * windows.kernel_width * windows.channels;
  Segment segments[kSegments];
  Tile tile{};
  tile.sum_stride = tile.y_stride = product.column_stride;
  tile.segments = segments;
  tile.k = chunk.k;
  tile.a_stride = windows.stride * product.layout.pixel_stride;
  tile.accumulate = !chunk.first;
  tile.relu = chunk.last && product.epilogue.relu;
  for (std::int64_t channel = 0; channel < product.out_channels; channel += kPanelColumns) {
    tile.columns = min_of(kPanelColumns, product.out_channels - channel);
    const int vectors = panel_vectors(tile.columns);
    tile.b_stride = vectors * kLanes;
    tile.bias = chunk.last && product.epilogue.bias != nullptr ? product.epilogue.bias + channel : nullptr;
    const Tiles tiles = cut(windows.columns, kMaxRows[vectors]);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      tile.segment_count = collect(product, strip, chunk, row, product.weights + channel * depth, tile.b_stride, segments);
      float* y = product.y + image * product.image_stride + row * product.row_stride + channel;
      for (std::int64_t t = 0; t < tiles.count; ++t) {
        const Range columns = tiles[t];
        tile.sum = y + columns.begin * product.column_stride;
        tile.y = chunk.last ? tile.sum : nullptr;
        tile.a_offset = columns.begin * tile.a_stride;
        tile_kernel(AccessA::rows, columns.end - columns.begin, vectors)(tile);
      }
    }
  }
}

}  // namespace

StripLayout make_product_layout(const Windows& windows, int parts) {
  return make_strip_layout(windows, {kStripBytes, 0, 0}, parts, false);
}

void multiply_windows(const WindowProduct& product, float* scratch, int part, int parts) {
  const Windows& windows = product.windows;
  const StripLayout& layout = product.layout;
  const std::int64_t runs = windows.kernel_height * layout.runs_per_row;  // 0: no pixel of these meets a tap
  const std::int64_t pieces = max_of(divide_up(layout.run, kDepth), 1), piece = divide_up(layout.run, pieces);
  const std::int64_t runs_at_once = pieces > 1 ? 1 : min_of(max_of(kDepth / max_of(layout.run, 1), 1), kSegments);
  const Range strips = part_of(windows.batch * layout.blocks, part, parts, 1);
  for (std::int64_t index = strips.begin; index < strips.end; ++index) {
    const std::int64_t image = index / layout.blocks, block = index % layout.blocks;
    const Range rows{block * layout.block_rows, min_of((block + 1) * layout.block_rows, windows.rows)};
    const Strip strip = make_strip(windows, layout, image, rows, scratch);
    if (runs == 0) multiply_chunk(product, strip, {{0, 0}, 0, 0, true, true}, image, rows);
    for (std::int64_t run = 0; run < runs; run += runs_at_once) {
      const std::int64_t end = min_of(run + runs_at_once, runs);
      for (std::int64_t from = 0; from < layout.run; from += piece) {
        const bool first = run == 0 && from == 0, last = end == runs && from + piece >= layout.run;
        multiply_chunk(product, strip, {{run, end}, from, min_of(piece, layout.run - from), first, last}, image, rows);
      }
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
