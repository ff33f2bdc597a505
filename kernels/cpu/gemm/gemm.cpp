// Matrix products by packed blocks: the five loops of Goto and van de Geijn ("Anatomy of high-performance matrix
// multiplication", 2008) around the microkernel.
//
// The threads form a grid, each owns a rectangle of C. They pack a block of B together, into one of two buffers in turn, so
// that one barrier a block is enough; each then packs its own rows of A and multiplies.
#include <omp.h>

#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/gemm/team.h"
#include "kernels/cpu/kernels.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {
namespace {

// Depth of a block: a tile of A (14 x 256 floats) and what streams past it stay in a first-level cache of 32 KiB, and
// reading and writing C costs one pass in 256.
constexpr std::int64_t kBlockK = 256;
// Rows of A that a thread packs at a time: 224 x 256 floats are a quarter of a second-level cache of 1 MiB.
constexpr std::int64_t kBlockM = 224;
// Columns of a block of B: two buffers of 2048 x 256 floats fit the last-level cache.
constexpr std::int64_t kBlockN = 2048;
// A is read in place if fewer columns than this make use of a packed copy.
constexpr std::int64_t kPackColumns = 96;

struct Plan {
  int team, grid_m, grid_n;  // grid_m * grid_n == team
  std::int64_t tile_rows;    // at most
  std::int64_t k_blocks, block_k;
  std::int64_t n_blocks, block_n;  // block_n: a multiple of the panel
  std::int64_t block_m;            // a multiple of tile_rows
  bool pack_a;
  std::int64_t a_stride;            // of packed A
  std::int64_t a_floats, b_floats;  // of one thread's block of A, of one of the two blocks of B
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
  plan.k_blocks = divide_up(shape.k, kBlockK);
  plan.block_k = divide_up(shape.k, plan.k_blocks);
  plan.n_blocks = divide_up(shape.n, kBlockN);
  plan.block_n = round_up(divide_up(shape.n, plan.n_blocks), kPanelColumns);
  plan.n_blocks = divide_up(shape.n, plan.block_n);
  const std::int64_t rows = divide_up(shape.m, plan.grid_m);
  plan.block_m = round_up(divide_up(rows, divide_up(rows, kBlockM)), plan.tile_rows);
  plan.pack_a =
      shape.transpose_a || shape.n / plan.grid_n >= kPackColumns || rows_conflict(shape.k, min_of(plan.tile_rows, shape.m));
  if (shape.transpose_a) {
    plan.a_stride = round_up(plan.tile_rows, kLanes);
    plan.a_floats = divide_up(plan.block_m, plan.tile_rows) * plan.a_stride * plan.block_k;
  } else {
    plan.a_stride = round_up(plan.block_k, kLanes);
    if (rows_conflict(plan.a_stride, plan.tile_rows)) plan.a_stride += 16;
    plan.a_floats = plan.block_m * plan.a_stride;
  }
  plan.a_floats = plan.pack_a ? round_up(plan.a_floats, 16) : 0;
  plan.b_floats = round_up(plan.block_k * packed_columns(min_of(plan.block_n, shape.n)), 16);
  return plan;
}

struct Call {
  float* c;
  const float *a, *b;
  GemmShape shape;
  Epilogue epilogue;
  Plan plan;
};

struct Block {  // of k and n
  Range k, n;
  bool first, last;  // along k
};

// Packs the share of `part` of the block's panels.
void pack_b(const Call& call, const Block& block, float* packed, int part) {
  const std::int64_t depth = block.k.end - block.k.begin, columns = block.n.end - block.n.begin;
  const Range panels = part_of(divide_up(columns, kPanelColumns), part, call.plan.team, 1);
  for (std::int64_t panel = panels.begin; panel < panels.end; ++panel) {
    const std::int64_t first = panel * kPanelColumns, width = min_of(kPanelColumns, columns - first);
    const std::int64_t column = block.n.begin + first;
    float* target = packed + first * depth;
    if (call.shape.transpose_b) {
      pack_panel_transposed(target, call.b + column * call.shape.k + block.k.begin, call.shape.k, depth, width);
    } else {
      pack_panel(target, call.b + block.k.begin * call.shape.n + column, call.shape.n, depth, width);
    }
  }
}

// Transposed A: tile by tile, each [depth, a_stride].
void pack_a_columns(const Call& call, const Block& block, Range rows, float* packed) {
  const std::int64_t depth = block.k.end - block.k.begin, count = rows.end - rows.begin;
  const std::int64_t tiles = tile_count(count, call.plan.tile_rows);
  for (std::int64_t t = 0; t < tiles; ++t) {
    const Range tile = tile_of(count, t, tiles);
    copy_rows(packed + t * depth * call.plan.a_stride, call.plan.a_stride,
              call.a + block.k.begin * call.shape.m + rows.begin + tile.begin, call.shape.m, depth, tile.end - tile.begin);
  }
}

// C[rows, columns] of the block, rows at most plan.block_m.
void multiply(const Call& call, const Block& block, Range rows, Range columns, float* packed_a, const float* packed_b) {
  const Plan& plan = call.plan;
  const GemmShape& shape = call.shape;
  const std::int64_t depth = block.k.end - block.k.begin, count = rows.end - rows.begin;
  const AccessA access = shape.transpose_a ? AccessA::columns : AccessA::rows;
  const float* a = call.a + rows.begin * shape.k + block.k.begin;
  std::int64_t a_stride = shape.k;
  if (shape.transpose_a) {
    pack_a_columns(call, block, rows, packed_a);
    a = packed_a;
    a_stride = plan.a_stride;
  } else if (plan.pack_a) {
    copy_rows(packed_a, plan.a_stride, a, shape.k, count, depth);
    a = packed_a;
    a_stride = plan.a_stride;
  }
  const std::int64_t tiles = tile_count(count, plan.tile_rows);
  for (std::int64_t column = columns.begin; column < columns.end; column += kPanelColumns) {
    const std::int64_t width = min_of(kPanelColumns, columns.end - column);
    const int vectors = panel_vectors(width);
    Segment segment{a, packed_b + (column - block.n.begin) * depth};
    Tile tile{};
    tile.columns = width;
    tile.c_stride = shape.n;
    tile.segments = &segment;
    tile.segment_count = 1;
    tile.k = depth;
    tile.a_stride = a_stride;
    tile.b_stride = vectors * kLanes;
    tile.bias = block.last && call.epilogue.bias != nullptr ? call.epilogue.bias + column : nullptr;
    tile.accumulate = !block.first;
    tile.relu = block.last && call.epilogue.relu;
    for (std::int64_t t = 0; t < tiles; ++t) {
      const Range range = tile_of(count, t, tiles);
      tile.a_offset = shape.transpose_a ? t * depth * plan.a_stride : range.begin * a_stride;
      tile.c = call.c + (rows.begin + range.begin) * shape.n + column;
      tile_kernel(access, range.end - range.begin, vectors)(tile);
    }
  }
}

// The rectangle of `part`, as far as it lies in the block.
void multiply_part(const Call& call, const Block& block, float* packed_a, const float* packed_b, int part) {
  const Plan& plan = call.plan;
  const Range rows =
      part_of(call.shape.m, part / plan.grid_n, plan.grid_m, call.shape.m < plan.grid_m * plan.tile_rows ? 1 : plan.tile_rows);
  Range columns = part_of(block.n.end - block.n.begin, part % plan.grid_n, plan.grid_n, kPanelColumns);
  columns = {columns.begin + block.n.begin, columns.end + block.n.begin};
  if (columns.begin == columns.end) return;
  for (std::int64_t row = rows.begin; row < rows.end; row += plan.block_m)
    multiply(call, block, {row, min_of(row + plan.block_m, rows.end)}, columns, packed_a, packed_b);
}

}  // namespace

std::size_t gemm_workspace_bytes(const GemmShape& shape, int threads) {
  const Plan plan = make_plan(shape, threads);
  return static_cast<std::size_t>(2 * plan.b_floats + plan.team * plan.a_floats) * sizeof(float);
}

void gemm(float* c, const float* a, const float* b, const GemmShape& shape, const Epilogue& epilogue, void* workspace,
          int threads) {
  const Call call{c, a, b, shape, epilogue, make_plan(shape, threads)};
  const Plan& plan = call.plan;
  float* const blocks_b = static_cast<float*>(workspace);
  float* const blocks_a = blocks_b + 2 * plan.b_floats;
#pragma omp parallel num_threads(plan.team) if (plan.team > 1)
  {
    // The runtime may grant fewer threads than there are parts.
    const int thread = omp_get_thread_num(), granted = omp_get_num_threads();
    for (std::int64_t i = 0; i < plan.n_blocks * plan.k_blocks; ++i) {
      const std::int64_t n = i / plan.k_blocks, k = i % plan.k_blocks;
      const Block block{{k * plan.block_k, min_of((k + 1) * plan.block_k, shape.k)},
                        {n * plan.block_n, min_of((n + 1) * plan.block_n, shape.n)},
                        k == 0,
                        k == plan.k_blocks - 1};
      float* const packed_b = blocks_b + i % 2 * plan.b_floats;
      for (int part = thread; part < plan.team; part += granted) pack_b(call, block, packed_b, part);
#pragma omp barrier
      for (int part = thread; part < plan.team; part += granted)
        multiply_part(call, block, blocks_a + part * plan.a_floats, packed_b, part);
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
