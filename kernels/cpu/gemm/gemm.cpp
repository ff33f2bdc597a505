// Matrix products by packed blocks: the five loops of Goto and van de Geijn ("Anatomy of high-performance matrix
// multiplication", 2008) around the microkernel.
//
// The threads form a grid, each owns a rectangle of C. Those that own the same columns pack their part of a block of B
// together, into one of two buffers in turn, so that one barrier a block is enough; each then packs its own rows of A and
// multiplies, block of k by block of k as far as B is packed, so that the sums stay in a near cache. What will be packed next
// is fetched meanwhile.
//
// What is said of k below counts words (microkernel.h), but for the k of the shape. The sum of several blocks of k lies where C
// goes if C is of floats, else in the workspace: it is rounded once.
#include <omp.h>

#include "kernels/cpu/gemm/plan.h"
#include "kernels/cpu/kernels.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {
namespace {

struct Call {
  Real* c;
  float* sum;  // c, or [m or rows of a block, columns of a block]
  const Real *a, *b;
  GemmShape shape;
  Epilogue<Real> epilogue;
  GemmPlan plan;
};

struct Block {
  Range k, n;        // k in numbers
  bool first, last;  // along k
};
std::int64_t depth_of(const Block& block) { return words_of(block.k.end - block.k.begin); }

// The columns of the block that `part` multiplies with.
Range columns_of(const GemmPlan& plan, const Block& block, int part) {
  const Range columns = part_of(block.n.end - block.n.begin, part % plan.grid_n, plan.grid_n, kPanelColumns);
  return {columns.begin + block.n.begin, columns.end + block.n.begin};
}

// Whether the panel at `column` is read in B itself: all of it must lie there.
bool in_place(const Call& call, std::int64_t column, std::int64_t columns) {
  return call.plan.b_in_place && column + panel_vectors(columns) * kLanes <= call.shape.n;
}

// Packs the share of `part`: of its columns, together with the parts that own other rows of them.
void pack_b(const Call& call, const Block& block, Word* packed, int part) {
  const GemmPlan& plan = call.plan;
  const Range columns = columns_of(plan, block, part);
  const std::int64_t depth = block.k.end - block.k.begin, count = columns.end - columns.begin;
  const Range pieces = part_of(pack_pieces(count, depth), part / plan.grid_n, plan.grid_m, 1);
  packed += part % plan.grid_n * plan.group_words;
  for (std::int64_t i = pieces.begin; i < pieces.end; ++i) {
    const PackPiece piece = pack_piece(count, depth, i);
    const std::int64_t column = columns.begin + piece.column, k = block.k.begin + piece.k;
    if (in_place(call, column, piece.columns)) continue;
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
  if (call.shape.transpose_a && kPackedTransposedA == AccessA::columns) {
    pack_a_columns(call, block, rows, packed);
    return {packed, AccessA::columns, stride, words_of(depth) * stride};
  }
  if (call.shape.transpose_a) {
    pack_transposed(packed, stride, call.a + block.k.begin * call.shape.m + rows.begin, call.shape.m, depth,
                    rows.end - rows.begin);
    return {packed, AccessA::rows, stride, 0};
  }
  const Real* a = call.a + rows.begin * call.shape.k + block.k.begin;
  if (!call.plan.pack_a) return {reinterpret_cast<const Word*>(a), AccessA::rows, call.shape.k / kWordDepth, 0};
  copy_rows(packed, stride, a, call.shape.k, rows.end - rows.begin, depth);
  return {packed, AccessA::rows, stride, 0};
}

AheadRows rows_of(const Real* first, std::int64_t rows, std::int64_t length, std::int64_t stride) {
  constexpr std::int64_t kBytes = sizeof(Real);
  return {reinterpret_cast<const char*>(first), rows, length * kBytes, stride * kBytes};
}
// The source of what prepare_a packs.
AheadRows source_of_a(const Call& call, const Block& block, Range rows) {
  const std::int64_t depth = block.k.end - block.k.begin, count = rows.end - rows.begin;
  if (!call.plan.pack_a) return {};
  if (call.shape.transpose_a) return rows_of(call.a + block.k.begin * call.shape.m + rows.begin, depth, count, call.shape.m);
  return rows_of(call.a + rows.begin * call.shape.k + block.k.begin, count, depth, call.shape.k);
}

// What a part multiplies of a block: some rows and all of its columns.
struct Unit {
  Block block;
  std::int64_t k;  // index of the block along k
  Range rows, columns;
  float* sum;  // of the first row of `rows` and the first column of the block
  Left left;
  const Word* panels;
};

// C[rows, columns] of the unit, for a group of columns.
void multiply(const Call& call, const Unit& unit, Range columns, Ahead& ahead) {
  const Block& block = unit.block;
  const std::int64_t depth = depth_of(block);
  Segment segment{unit.left.data, nullptr};
  Tile tile{};
  tile.sum_stride = call.plan.sum_stride;
  tile.y_stride = call.shape.n;
  tile.segments = &segment;
  tile.segment_count = 1;
  tile.k = depth;
  tile.a_stride = unit.left.stride;
  tile.accumulate = !block.first;
  tile.relu = block.last && call.epilogue.relu;
  tile.ahead = &ahead;
  const Tiles tiles = cut(unit.rows.end - unit.rows.begin, call.plan.tile_rows);
  for (std::int64_t t = 0; t < tiles.count; ++t) {
    const Range range = tiles[t];
    tile.a_offset = unit.left.tile_offset > 0 ? t * unit.left.tile_offset : range.begin * unit.left.stride;
    for (std::int64_t column = columns.begin; column < columns.end; column += kPanelColumns) {
      tile.columns = min_of(kPanelColumns, columns.end - column);
      const int vectors = panel_vectors(tile.columns);
      tile.b_stride = vectors * kLanes;
      segment.b = unit.panels + (column - unit.columns.begin) * depth;
      if (in_place(call, column, tile.columns)) {
        tile.b_stride = call.shape.n / kWordDepth;
        segment.b = reinterpret_cast<const Word*>(call.b + block.k.begin * call.shape.n + column);
      }
      tile.bias = block.last && call.epilogue.bias != nullptr ? call.epilogue.bias + column : nullptr;
      tile.sum = unit.sum + range.begin * call.plan.sum_stride + column - block.n.begin;
      tile.y = block.last ? call.c + (unit.rows.begin + range.begin) * call.shape.n + column : nullptr;
      tile_kernel(unit.left.access, range.end - range.begin, vectors)(tile);
    }
  }
}

// A block of B: some columns, and as many blocks of k as are packed at once.
struct Stage {
  Range n, k_blocks;
};
Stage stage_of(const Call& call, std::int64_t index) {
  const GemmPlan& plan = call.plan;
  const std::int64_t deep = divide_up(plan.k_blocks, plan.k_at_once), n = index / deep, k = index % deep;
  return {{n * plan.block_n, min_of((n + 1) * plan.block_n, call.shape.n)},
          {k * plan.k_at_once, min_of((k + 1) * plan.k_at_once, plan.k_blocks)}};
}
std::int64_t stages_of(const GemmPlan& plan) { return plan.n_blocks * divide_up(plan.k_blocks, plan.k_at_once); }
Block block_of(const Call& call, const Stage& stage, std::int64_t k) {
  const std::int64_t depth = call.plan.block_k * kWordDepth;
  return {{k * depth, min_of((k + 1) * depth, call.shape.k)}, stage.n, k == 0, k == call.plan.k_blocks - 1};
}

void pack_stage(const Call& call, const Stage& stage, Word* packed, int part) {
  for (std::int64_t k = stage.k_blocks.begin; k < stage.k_blocks.end; ++k)
    pack_b(call, block_of(call, stage, k), packed + (k - stage.k_blocks.begin) * call.plan.grid_n * call.plan.group_words,
           part);
}

// The source of what pack_stage packs for a part that has its columns for itself.
AheadRows source_of_b(const Call& call, const Stage& stage, int part) {
  const Block first = block_of(call, stage, stage.k_blocks.begin), last = block_of(call, stage, stage.k_blocks.end - 1);
  const Range columns = columns_of(call.plan, first, part);
  const std::int64_t depth = last.k.end - first.k.begin, count = columns.end - columns.begin;
  if (call.shape.transpose_b) return rows_of(call.b + columns.begin * call.shape.k + first.k.begin, count, depth, call.shape.k);
  return rows_of(call.b + first.k.begin * call.shape.n + columns.begin, depth, count, call.shape.n);
}

// What comes after a unit: the next rows or depth, else the first of the next stage.
AheadRows source_after(const Call& call, const Unit& unit, Range rows, const Stage& stage, const Stage* next) {
  const bool last_k = unit.k + 1 == stage.k_blocks.end, last_row = unit.rows.end == rows.end;
  if (last_k && last_row && next == nullptr) return {};
  const std::int64_t row = !last_k ? unit.rows.begin : last_row ? rows.begin : unit.rows.end;
  const Block block = !last_k    ? block_of(call, stage, unit.k + 1)
                      : last_row ? block_of(call, *next, next->k_blocks.begin)
                                 : block_of(call, stage, stage.k_blocks.begin);
  return source_of_a(call, block, {row, min_of(row + call.plan.block_m, rows.end)});
}

// The rectangle of `part`, as far as it lies in the stage; `next` is the stage that follows, or null.
void multiply_part(const Call& call, const Stage& stage, const Stage* next, Word* packed_a, const Word* packed_b, int part) {
  const GemmPlan& plan = call.plan;
  const std::int64_t tile_rows = plan.tile_rows, depths = stage.k_blocks.end - stage.k_blocks.begin;
  const Range rows =
      part_of(call.shape.m, part / plan.grid_n, plan.grid_m, call.shape.m < plan.grid_m * tile_rows ? 1 : tile_rows);
  const Range columns = columns_of(plan, block_of(call, stage, stage.k_blocks.begin), part);
  if (columns.begin == columns.end) return;
  const std::int64_t panels = divide_up(columns.end - columns.begin, kPanelColumns);
  // Of the next block of B each unit fetches some rows.
  AheadRows rest = plan.grid_m == 1 && next != nullptr ? source_of_b(call, *next, part) : AheadRows{};
  const std::int64_t units = divide_up(rows.end - rows.begin, plan.block_m) * depths;
  const std::int64_t share = divide_up(rest.rows, max_of(units, 1));
  for (std::int64_t row = rows.begin; row < rows.end; row += plan.block_m) {
    const Range block_rows{row, min_of(row + plan.block_m, rows.end)};
    for (std::int64_t k = stage.k_blocks.begin; k < stage.k_blocks.end; ++k) {
      Unit unit{};
      unit.block = block_of(call, stage, k);
      unit.k = k;
      unit.rows = block_rows;
      unit.columns = columns;
      const bool own_rows = kSumApart && plan.k_at_once == plan.k_blocks;
      unit.sum = call.sum + (own_rows ? part * plan.block_m : row) * plan.sum_stride + (kSumApart ? 0 : stage.n.begin);
      unit.left = prepare_a(call, unit.block, block_rows, packed_a);
      unit.panels = packed_b + ((k - stage.k_blocks.begin) * plan.grid_n + part % plan.grid_n) * plan.group_words;

      Ahead ahead;
      ahead.now = source_after(call, unit, rows, stage, next);
      ahead.then = rest;
      ahead.then.rows = min_of(share, rest.rows);
      rest.first += ahead.then.rows * rest.stride;
      rest.rows -= ahead.then.rows;
      const std::int64_t tiles = divide_up(block_rows.end - block_rows.begin, tile_rows) * panels;
      const std::int64_t times = tiles * max_of(depth_of(unit.block) / kAheadStep, 1);
      ahead.lines = divide_up(ahead.now.lines() + ahead.then.lines(), times);
      for (std::int64_t column = columns.begin; column < columns.end; column += kGroupPanels * kPanelColumns)
        multiply(call, unit, {column, min_of(column + kGroupPanels * kPanelColumns, columns.end)}, ahead);
    }
  }
}

}  // namespace

std::size_t gemm_workspace_bytes(const GemmShape& shape, int threads) {
  const GemmPlan plan = make_gemm_plan(shape, threads);
  return static_cast<std::size_t>(buffers_of(plan) * plan.b_words + plan.team * plan.a_words + plan.sum_floats) * sizeof(float);
}

void gemm(Real* c, const Real* a, const Real* b, const GemmShape& shape, const Epilogue<Real>& epilogue, void* workspace,
          int threads) {
  const GemmPlan plan = make_gemm_plan(shape, threads);
  Word* const blocks_b = static_cast<Word*>(workspace);
  Word* const blocks_a = blocks_b + buffers_of(plan) * plan.b_words;
  float* const sum = reinterpret_cast<float*>(kSumApart ? blocks_a + plan.team * plan.a_words : static_cast<void*>(c));
  const Call call{c, sum, a, b, shape, epilogue, plan};
#pragma omp parallel num_threads(plan.team) if (plan.team > 1)
  {
    const MicrokernelScope scope;
    // The runtime may grant fewer threads than there are parts.
    const int thread = omp_get_thread_num(), granted = omp_get_num_threads();
    const std::int64_t stages = stages_of(plan);
    for (std::int64_t i = 0; i < stages; ++i) {
      const Stage stage = stage_of(call, i), next = stage_of(call, i + 1);
      Word* const packed_b = blocks_b + i % buffers_of(plan) * plan.b_words;
      for (int part = thread; part < plan.team; part += granted) pack_stage(call, stage, packed_b, part);
      if (plan.grid_m > 1) {  // else every thread has packed what it needs
#pragma omp barrier
      }
      for (int part = thread; part < plan.team; part += granted)
        multiply_part(call, stage, i + 1 < stages ? &next : nullptr, blocks_a + part * plan.a_words, packed_b, part);
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
