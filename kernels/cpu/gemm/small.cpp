// Panels and tiles of a product that needs no cache blocking.
#include "kernels/cpu/gemm/small.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

void pack_panels(Word* panels, const Real* b, std::int64_t stride, std::int64_t k, std::int64_t columns) {
  for (std::int64_t column = 0; column < columns; column += kNr)
    pack_panel(panels + column * word_count(k), b + column, stride, k, min_of(kNr, columns - column));
}

void pack_panels_transposed(Word* panels, const Real* b, std::int64_t stride, std::int64_t k, std::int64_t columns) {
  for (std::int64_t column = 0; column < columns; column += kNr)
    pack_panel_transposed(panels + column * word_count(k), b + column * stride, stride, k, min_of(kNr, columns - column));
}

// A panel of B stays in the L1 cache while the tiles of A stream past it.
void multiply_small(const SmallProduct& product) {
  const std::int64_t panel_k = product.panel_k > 0 ? product.panel_k : product.k;
  for (std::int64_t column = 0; column < product.columns; column += kNr) {
    const std::int64_t width = min_of(kNr, product.columns - column);
    const int vectors = panel_vectors(width);
    const Segment segment{product.a, product.b + column * panel_k};
    Tile tile{};
    tile.sum_stride = product.sum_stride;
    tile.y_stride = product.y_stride;
    tile.columns = width;
    tile.segments = &segment;
    tile.segment_count = 1;
    tile.k = product.k;
    tile.a_stride = product.a_stride;
    tile.b_stride = vectors * kLanes;
    tile.accumulate = product.accumulate;
    const Tiles tiles = cut(product.rows, kMr[vectors]);
    for (std::int64_t t = 0; t < tiles.count; ++t) {
      const Range rows = tiles[t];
      tile.a_offset = product.access == AccessA::rows ? rows.begin * product.a_stride : rows.begin;
      if (product.sum != nullptr) tile.sum = product.sum + rows.begin * product.sum_stride + column;
      if (product.y != nullptr) tile.y = product.y + rows.begin * product.y_stride + column;
      tile_kernel(product.access, rows.end - rows.begin, vectors)(tile);
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
