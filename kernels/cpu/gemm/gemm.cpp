// Matrix products by packed blocks: the five loops of Goto and van de Geijn ("Anatomy of high-performance matrix
// multiplication", 2008) around the microkernel.
//
// The threads form a grid, each owns a rectangle of C. Those that own the same columns pack their part of a block of B
// together, into one of two buffers in turn, so that one barrier a block is enough; each then packs its own rows of A and
// multiplies.
//
// What is said of k below counts words (microkernel.h), but for the k of the shape. The sum of several blocks of k lies where C
// goes if C is of floats, else in the workspace: it is rounded once.
#include <omp.h>

#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/gemm/team.h"
#include "kernels/cpu/kernels.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {
namespace {

// Depth of a block: reading and writing C costs one pass in 384, and a tile of A (14 x 384 words) stays in a first-level cache
// of 32 KiB while panels of B stream past it.
constexpr std::int64_t kBlockK = 384;
// Panels of B that stay in the second-level cache (8 x 32 x 384 words), and the rows of A that pass by them (224 x 384): each
// a third of 1 MiB.
constexpr std::int64_t kGroupPanels = 8;
constexpr std::int64_t kBlockM = 224;
// Columns of a block of B: two buffers of 2048 x 384 words fit the last-level cache.
constexpr std::int64_t kBlockN = 2048;
// Rows of A that are shorter than this follow each other so closely that they are read in place as fast as from a packed copy,
// unless more columns than kManyColumns make use of the copy.
constexpr std::int64_t kShortRow = 64;
constexpr std::int64_t kManyColumns = 96;

// Whether partial sums cannot lie in C.
constexpr bool kSumApart = sizeof(Real) != sizeof(float);

struct Plan {
  int team, grid_m, grid_n;  // grid_m * grid_n == team
  std::int64_t tile_rows;    // at most
  std::int64_t k_blocks, block_k;
  std::int64_t n_blocks, block_n;  // block_n: a multiple of the panel
  std::int64_t block_m;            // a multiple of tile_rows
  bool pack_a;
  std::int64_t a_stride;          // of packed A
  std::int64_t group_words;       // of the panels of one column of the grid, in a block of B
  std::int64_t a_words, b_words;  // of one thread's block of A, of one of the two blocks of B
  std::int64_t sum_floats;        // of the sum of a block of columns, where it lies in the workspace
};

// The grid whose largest rectangle is smallest, and of those the squarest.
void choose_grid(Plan& plan, std::int64_t m, std::int64_t n) {
  std::int64_t best_area = -1, best_edge = 0;
  for (int grid_m = 1; grid_m <= plan.team; ++grid_m) {
    if (plan.team % grid_m != 0) continue;
    const std::int64_t rows = round_up(divide_up(m, grid_m), m < grid_m * plan.tile_rows ? 1 : plan.tile_rows);
    const std::int64_t columns = divide_up(divide_up(n, kPanelColumns), plan.team / grid_m) * kPanelColumns;
    const std::int64_t area = rows * columns, edge = rows + columns;
    if (best_area < 0 || area < best_area || (area == best_area && edge < best_edge)) {
      best_area = area;
      best_edge = edge;
      plan.grid_m = grid_m;
      plan.grid_n = plan.team / grid_m;
    }
  }
}

Plan make_plan(const GemmShape& shape, int threads) {
  Plan plan{};
  plan.team =
      team_size(2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k), threads);
  plan.tile_rows = kMaxRows[panel_vectors(shape.n)];
  choose_grid(plan, shape.m, shape.n);
  plan.k_blocks = divide_up(words_of(shape.k), kBlockK);
  plan.block_k = divide_up(words_of(shape.k), plan.k_blocks);
  plan.n_blocks = divide_up(shape.n, kBlockN);
  plan.block_n = round_up(divide_up(shape.n, plan.n_blocks), kPanelColumns);
  plan.n_blocks = divide_up(shape.n, plan.block_n);
  const std::int64_t rows = divide_up(shape.m, plan.grid_m);
  plan.block_m = round_up(divide_up(rows, divide_up(rows, kBlockM)), plan.tile_rows);
  plan.pack_a =
      shape.transpose_a || shape.k % kWordDepth != 0 || words_of(shape.k) >= kShortRow || shape.n / plan.grid_n >= kManyColumns;
  if (shape.transpose_a) {
    plan.a_stride = round_up(plan.tile_rows, kLanes);
    plan.a_words = divide_up(plan.block_m, plan.tile_rows) * plan.a_stride * plan.block_k;
  } else {
    plan.a_stride = round_up(plan.block_k, kLanes);
    if (rows_conflict(plan.a_stride, plan.tile_rows)) plan.a_stride += 16;
    plan.a_words = plan.block_m * plan.a_stride;
  }
  plan.a_words = plan.pack_a ? round_up(plan.a_words, 16) : 0;
  const std::int64_t columns = divide_up(divide_up(min_of(plan.block_n, shape.n), kPanelColumns), plan.grid_n) * kPanelColumns;
  plan.group_words = round_up(min_of(columns, packed_columns(shape.n)) * plan.block_k, 16);
  plan.b_words = plan.grid_n * plan.group_words;
  plan.sum_floats = kSumApart && plan.k_blocks > 1 ? round_up(shape.m * min_of(plan.block_n, shape.n), 16) : 0;
  return plan;
}

struct Call {
  Real* c;
  float* sum;  // [m, columns of a block], or c
  const Real *a, *b;
  GemmShape shape;
  Epilogue<Real> epilogue;
  Plan plan;
};

struct Block {
  Range k, n;        // k in numbers
  bool first, last;  // along k
};
std::int64_t depth_of(const Block& block) { return words_of(block.k.end - block.k.begin); }

// The columns of the block that `part` multiplies with.
Range columns_of(const Plan& plan, const Block& block, int part) {
  const Range columns = part_of(block.n.end - block.n.begin, part % plan.grid_n, plan.grid_n, kPanelColumns);
  return {columns.begin + block.n.begin, columns.end + block.n.begin};
}

// Packs the share of `part`: of its columns, together with the parts that own other rows of them.
void pack_b(const Call& call, const Block& block, Word* packed, int part) {
  const Plan& plan = call.plan;
  const Range columns = columns_of(plan, block, part);
  const std::int64_t depth = block.k.end - block.k.begin, count = columns.end - columns.begin;
  const Range pieces = part_of(pack_pieces(count, depth), part / plan.grid_n, plan.grid_m, 1);
  packed += part % plan.grid_n * plan.group_words;
  for (std::int64_t i = pieces.begin; i < pieces.end; ++i) {
    const PackPiece piece = pack_piece(count, depth, i);
    const std::int64_t column = columns.begin + piece.column, k = block.k.begin + piece.k;
    if (call.shape.transpose_b) {
      pack_panel_transposed(packed + piece.offset, call.b + column * call.shape.k + k, call.shape.k, piece.depth,
                            piece.columns);
    } else {
      pack_panel(packed + piece.offset, call.b + k * call.shape.n + column, call.shape.n, piece.depth, piece.columns);
    }
  }
}

// Transposed A: tile by tile, each [depth, a_stride].
void pack_a_columns(const Call& call, const Block& block, Range rows, Word* packed) {
  const std::int64_t depth = block.k.end - block.k.begin, count = rows.end - rows.begin;
  const Tiles tiles = cut(count, call.plan.tile_rows);
  for (std::int64_t t = 0; t < tiles.count; ++t) {
    const Range tile = tiles[t];
    pack_transposed(packed + t * words_of(depth) * call.plan.a_stride, call.plan.a_stride,
                    call.a + block.k.begin * call.shape.m + rows.begin + tile.begin, call.shape.m, depth,
                    tile.end - tile.begin);
  }
}

// A [rows, depth of the block] as the microkernel reads it.
struct Left {
  const Word* data;
  AccessA access;
  std::int64_t stride;
  std::int64_t tile_offset;  // between transposed tiles; 0: a tile begins at its first row
};

// Packs the rows into `packed` where the plan wants that.
Left prepare_a(const Call& call, const Block& block, Range rows, Word* packed) {
  const std::int64_t depth = block.k.end - block.k.begin, stride = call.plan.a_stride;
  if (call.shape.transpose_a) {
    pack_a_columns(call, block, rows, packed);
    return {packed, AccessA::columns, stride, words_of(depth) * stride};
  }
  const Real* a = call.a + rows.begin * call.shape.k + block.k.begin;
  if (!call.plan.pack_a) return {reinterpret_cast<const Word*>(a), AccessA::rows, call.shape.k / kWordDepth, 0};
  copy_rows(packed, stride, a, call.shape.k, rows.end - rows.begin, depth);
  return {packed, AccessA::rows, stride, 0};
}

// C[rows, columns] of the block, for a group of columns and their panels.
void multiply(const Call& call, const Block& block, Range rows, Range columns, const Left& left, const Word* panels) {
  const std::int64_t depth = depth_of(block), count = rows.end - rows.begin;
  Segment segment{left.data, nullptr};
  Tile tile{};
  const std::int64_t sum_stride = kSumApart ? min_of(call.plan.block_n, call.shape.n) : call.shape.n;
  const std::int64_t sum_column = kSumApart ? block.n.begin : 0;
  tile.sum_stride = sum_stride;
  tile.y_stride = call.shape.n;
  tile.segments = &segment;
  tile.segment_count = 1;
  tile.k = depth;
  tile.a_stride = left.stride;
  tile.accumulate = !block.first;
  tile.relu = block.last && call.epilogue.relu;
  const Tiles tiles = cut(count, call.plan.tile_rows);
  for (std::int64_t t = 0; t < tiles.count; ++t) {
    const Range range = tiles[t];
    tile.a_offset = left.tile_offset > 0 ? t * left.tile_offset : range.begin * left.stride;
    for (std::int64_t column = columns.begin; column < columns.end; column += kPanelColumns) {
      tile.columns = min_of(kPanelColumns, columns.end - column);
      const int vectors = panel_vectors(tile.columns);
      tile.b_stride = vectors * kLanes;
      segment.b = panels + (column - columns.begin) * depth;
      tile.bias = block.last && call.epilogue.bias != nullptr ? call.epilogue.bias + column : nullptr;
      tile.sum = call.sum + (rows.begin + range.begin) * sum_stride + column - sum_column;
      tile.y = block.last ? call.c + (rows.begin + range.begin) * call.shape.n + column : nullptr;
      tile_kernel(left.access, range.end - range.begin, vectors)(tile);
    }
  }
}

// The rectangle of `part`, as far as it lies in the block.
void multiply_part(const Call& call, const Block& block, Word* packed_a, const Word* packed_b, int part) {
  const Plan& plan = call.plan;
  const Range rows =
      part_of(call.shape.m, part / plan.grid_n, plan.grid_m, call.shape.m < plan.grid_m * plan.tile_rows ? 1 : plan.tile_rows);
  const Range columns = columns_of(plan, block, part);
  if (columns.begin == columns.end) return;
  const Word* const panels = packed_b + part % plan.grid_n * plan.group_words;
  for (std::int64_t row = rows.begin; row < rows.end; row += plan.block_m) {
    const Range block_rows{row, min_of(row + plan.block_m, rows.end)};
    const Left left = prepare_a(call, block, block_rows, packed_a);
    for (std::int64_t column = columns.begin; column < columns.end; column += kGroupPanels * kPanelColumns) {
      const Range group{column, min_of(column + kGroupPanels * kPanelColumns, columns.end)};
      multiply(call, block, block_rows, group, left, panels + (column - columns.begin) * depth_of(block));
    }
  }
}

}  // namespace

std::size_t gemm_workspace_bytes(const GemmShape& shape, int threads) {
  const Plan plan = make_plan(shape, threads);
  return static_cast<std::size_t>(2 * plan.b_words + plan.team * plan.a_words + plan.sum_floats) * sizeof(float);
}

void gemm(Real* c, const Real* a, const Real* b, const GemmShape& shape, const Epilogue<Real>& epilogue, void* workspace,
          int threads) {
  const Plan plan = make_plan(shape, threads);
  Word* const blocks_b = static_cast<Word*>(workspace);
  Word* const blocks_a = blocks_b + 2 * plan.b_words;
  float* const sum = reinterpret_cast<float*>(kSumApart ? blocks_a + plan.team * plan.a_words : static_cast<void*>(c));
  const Call call{c, sum, a, b, shape, epilogue, plan};
#pragma omp parallel num_threads(plan.team) if (plan.team > 1)
  {
    const MicrokernelScope scope;
    // The runtime may grant fewer threads than there are parts.
    const int thread = omp_get_thread_num(), granted = omp_get_num_threads();
    for (std::int64_t i = 0; i < plan.n_blocks * plan.k_blocks; ++i) {
      const std::int64_t n = i / plan.k_blocks, k = i % plan.k_blocks;
      const Block block{{k * plan.block_k * kWordDepth, min_of((k + 1) * plan.block_k * kWordDepth, shape.k)},
                        {n * plan.block_n, min_of((n + 1) * plan.block_n, shape.n)},
                        k == 0,
                        k == plan.k_blocks - 1};
      Word* const packed_b = blocks_b + i % 2 * plan.b_words;
      for (int part = thread; part < plan.team; part += granted) pack_b(call, block, packed_b, part);
      if (plan.grid_m > 1) {  // else every thread has packed what it needs
#pragma omp barrier
      }
      for (int part = thread; part < plan.team; part += granted)
        multiply_part(call, block, blocks_a + part * plan.a_words, packed_b, part);
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
