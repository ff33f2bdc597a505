// The loops around the micro-kernel: strips, panels of weights, passes over the depth, rows, tiles.
#include "kernels/cpu/conv2d/windows.h"

#include "kernels/cpu/gemm/column_moments.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {
namespace {

// A strip stays in the L2 cache while it is multiplied by all panels of weights.
constexpr std::int64_t kStripBytes = 192 * 1024;
// Up to this many words, all taps are accumulated in registers. A deeper product makes several passes over the output, so that
// the part of a weight panel in use stays in the L2 cache.
constexpr std::int64_t kDepth = 1024;
constexpr std::int64_t kSegments = 64;

// How the depth is split: into groups of runs, or each run into pieces.
struct Cut {
  std::int64_t runs, run_words, piece, runs_at_once;
};
Cut cut_depth(const Windows& windows, const StripLayout& layout) {
  Cut cut{};
  cut.runs = windows.kernel_height * layout.runs_per_row;  // 0: these pixels meet no tap
  cut.run_words = word_count(layout.run);
  const std::int64_t pieces = max_of(divide_up(cut.run_words, kDepth), 1);
  cut.piece = divide_up(cut.run_words, pieces);
  cut.runs_at_once = pieces > 1 ? 1 : min_of(max_of(kDepth / max_of(cut.run_words, 1), 1), kSegments);
  return cut;
}
bool one_pass(const Cut& cut) { return cut.runs <= cut.runs_at_once && cut.piece == cut.run_words; }

// Runs [begin, end) of the windows, and the words [from, from + k) of each.
struct Chunk {
  Range runs;
  std::int64_t from, k;
  bool first, last;
};

// The operands of one pass, and where its result goes.
struct Panel {
  const Word* weights;
  std::int64_t channel, columns;
  int vectors;
  float* sums;  // [rows * windows.columns, kNr], if y cannot hold partial sums
};

// Lists the segments of one row of windows in the chunk and returns their number: taps outside the image have none.
std::int64_t collect(const WindowProduct& product, const Strip& strip, const Chunk& chunk, std::int64_t row, const Panel& panel,
                     Segment* segments) {
  const StripLayout& layout = product.layout;
  const std::int64_t run_words = word_count(layout.run);
  std::int64_t tap_row = chunk.runs.begin / layout.runs_per_row, tap_column = chunk.runs.begin % layout.runs_per_row;
  std::int64_t count = 0;
  for (std::int64_t run = chunk.runs.begin; run < chunk.runs.end; ++run) {
    const std::int64_t image_row = row * product.windows.stride + product.windows.first_row + tap_row;
    if (image_row >= strip.first_row && image_row < strip.end_row) {
      const std::int64_t strip_row = (image_row - strip.first_row) / layout.row_step;
      const Element* a = strip.data + strip_row * layout.row_stride + tap_column * layout.pixel_stride;
      segments[count++] = {reinterpret_cast<const Word*>(a) + chunk.from,
                           panel.weights + (run * run_words + chunk.from) * panel.vectors * kLanes};
    }
    if (++tap_column == layout.runs_per_row) {
      tap_column = 0;
      ++tap_row;
    }
  }
  return count;
}

void multiply_chunk(const WindowProduct& product, const Strip& strip, const Chunk& chunk, const Panel& panel,
                    std::int64_t image, Range rows) {
  const Windows& windows = product.windows;
  Segment segments[kSegments];
  Tile tile{};
  tile.segments = segments;
  tile.columns = panel.columns;
  tile.k = chunk.k;
  tile.a_stride = windows.stride / product.layout.column_step * product.layout.pixel_stride / kWordDepth;
  tile.b_stride = panel.vectors * kLanes;
  tile.accumulate = !chunk.first;
  tile.y_stride = product.column_stride;
  tile.bias = product.epilogue.bias != nullptr ? product.epilogue.bias + panel.channel : nullptr;
  tile.relu = product.epilogue.relu;
  const Tiles tiles = cut(windows.columns, kMr[panel.vectors]);
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    tile.segment_count = collect(product, strip, chunk, row, panel, segments);
    Real* y = product.y + image * product.image_stride + row * product.row_stride + panel.channel;
    for (std::int64_t t = 0; t < tiles.count; ++t) {
      const Range columns = tiles[t];
      Real* const target = y + columns.begin * product.column_stride;
      if (kRealWords) {
        tile.sum = reinterpret_cast<float*>(target);
        tile.sum_stride = product.column_stride;
      } else {
        tile.sum = panel.sums + ((row - rows.begin) * windows.columns + columns.begin) * kNr;
        tile.sum_stride = kNr;
      }
      tile.y = chunk.last ? target : nullptr;
      tile.a_offset = columns.begin * tile.a_stride;
      tile_kernel(AccessA::rows, columns.end - columns.begin, panel.vectors)(tile);
    }
  }
}

// The whole depth.
void multiply_panel(const WindowProduct& product, const Strip& strip, const Panel& panel, std::int64_t image, Range rows) {
  const Cut cut = cut_depth(product.windows, product.layout);
  if (cut.runs == 0) multiply_chunk(product, strip, {{0, 0}, 0, 0, true, true}, panel, image, rows);
  for (std::int64_t run = 0; run < cut.runs; run += cut.runs_at_once) {
    const std::int64_t end = min_of(run + cut.runs_at_once, cut.runs);
    for (std::int64_t from = 0; from < cut.run_words; from += cut.piece) {
      const bool first = run == 0 && from == 0, last = end == cut.runs && from + cut.piece >= cut.run_words;
      const Chunk chunk{{run, end}, from, min_of(cut.piece, cut.run_words - from), first, last};
      multiply_chunk(product, strip, chunk, panel, image, rows);
    }
  }
}

std::int64_t strip_bytes(const StripLayout& layout) {
  return round_up(layout.elements * static_cast<std::int64_t>(sizeof(Element)), 64);
}

}  // namespace

StripLayout make_product_layout(const Windows& windows, bool packed, int parts) {
  return make_strip_layout(windows, packed ? StripOf::packed_reals : StripOf::reals, {kStripBytes, 0, 0}, parts);
}

std::int64_t product_depth(const Windows& windows, const StripLayout& layout) {
  return windows.kernel_height * layout.runs_per_row * word_count(layout.run);
}

std::int64_t product_scratch_bytes(const Windows& windows, const StripLayout& layout) {
  std::int64_t sums = 0;
  if (!kRealWords && !one_pass(cut_depth(windows, layout))) sums = layout.block_rows * windows.columns * kNr;
  return strip_bytes(layout) + round_up(sums * static_cast<std::int64_t>(sizeof(float)), 64);
}

void multiply_windows(const WindowProduct& product, void* scratch, int part, int parts) {
  const Windows& windows = product.windows;
  const StripLayout& layout = product.layout;
  const std::int64_t depth = product_depth(windows, layout);
  Panel panel{};
  void* const moments = product.epilogue.moments;
  start_moments(moments, product.out_channels, part, parts);
  panel.sums = reinterpret_cast<float*>(static_cast<char*>(scratch) + strip_bytes(layout));
  const Range strips = part_of(windows.batch * layout.blocks, part, parts, 1);
  for (std::int64_t index = strips.begin; index < strips.end; ++index) {
    const std::int64_t image = index / layout.blocks, block = index % layout.blocks;
    const Range rows{block * layout.block_rows, min_of((block + 1) * layout.block_rows, windows.rows)};
    const Strip strip = make_strip(windows, layout, image, rows, static_cast<Element*>(scratch));
    for (panel.channel = 0; panel.channel < product.out_channels; panel.channel += kNr) {
      panel.columns = min_of(kNr, product.out_channels - panel.channel);
      panel.vectors = panel_vectors(panel.columns);
      panel.weights = product.weights + panel.channel * depth;
      multiply_panel(product, strip, panel, image, rows);
      if (moments == nullptr) continue;
      add_block(column_moments(moments, product.out_channels, part),
                product.y + image * product.image_stride + rows.begin * product.row_stride + panel.channel,
                product.column_stride, (rows.end - rows.begin) * windows.columns,
                {panel.channel, panel.channel + panel.columns});
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
