// How a matrix product on AMX tiles is divided, for threads and for caches. gemm_amx.cpp describes the order. k counts steps of
// 32, rows and columns count Reals.
#pragma once

#include "kernels/cpu/gemm/pack_tiles_amx.h"
#include "kernels/cpu/gemm/team.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// Panels of a block of B: every block of columns reads all of A once more, from L3. Fewer, down to kMinPanels, if the block
// then has all of k, because sums that go through L3 cost more; up to kMaxPanels if there are no more.
constexpr std::int64_t kMinPanels = 8, kPanels = 16, kMaxPanels = 20;
// Size of a block of B: about half of an L2 cache of 2 MiB, which every CPU with AMX has. The rest is for A, sums and C that
// stream past. With few rows it is smaller: a block is used only a few times, and most of its source can stay in the cache too.
// It may then be wider, since there are few sums.
constexpr std::int64_t kBlockBytes = 1152 << 10, kFewRowsBlockBytes = 512 << 10;
constexpr std::int64_t kFewRows = 256, kPanelsOfFewRows = 32;
// Limits that bound the workspace: rows of a thread at a time if sums go through L3, and Reals of packed A. B is packed once
// per block of rows, so these limits are large.
constexpr std::int64_t kMaxRows = 4096, kMinRows = 512, kPackedReals = 1 << 25;

struct GemmPlan {
  int team, grid_m, grid_n;            // grid_m * grid_n == team
  std::int64_t row_block;              // a multiple of 32
  std::int64_t panels;                 // of a block of B
  std::int64_t k_blocks, block_steps;  // along k
  std::int64_t tile_steps;
  bool pack_a;
  std::int64_t a_reals;                        // packed A of a block of rows
  std::int64_t row_sums, block_sums, b_reals;  // per thread; sums in floats
};

// Whether tiles of A can be loaded from the matrix: its rows are whole steps, so they start at cache lines if the matrix does.
static inline bool tiles_in_place(const GemmShape& shape, std::int64_t tile_steps) {
  if (shape.transpose_a || shape.k % kStepDepth != 0 || shape.k == 0) return false;
  return rows_suit_l1(shape.k / kStepDepth, tile_steps);
}

// Measured on a Xeon of the Granite Rapids class: cycles per step of a tile, and per line of L3 that is read.
constexpr double kCyclesPerStep = 85, kCyclesPerLine = 12;
// Time of a thread, in cycles per step of k: multiplying, packing its columns of B, and reading its rows of A once per block of
// columns.
static inline double cycles_of(std::int64_t rows, std::int64_t columns) {
  const std::int64_t tiles = divide_up(rows, kTilePair), panels = divide_up(columns, kTilePair);
  return kCyclesPerStep * static_cast<double>(tiles * panels) +
         kCyclesPerLine * kTilePair * static_cast<double>(panels + tiles * divide_up(panels, kPanels));
}
static inline void choose_grid(GemmPlan& plan, std::int64_t m, std::int64_t n) {
  double best = -1;
  for (int grid_m = 1; grid_m <= plan.team; ++grid_m) {
    if (plan.team % grid_m != 0) continue;
    const int grid_n = plan.team / grid_m;
    const double cycles = cycles_of(divide_up(divide_up(m, kTilePair), grid_m) * kTilePair,
                                    divide_up(divide_up(n, kTilePair), grid_n) * kTilePair);
    if (best >= 0 && cycles >= best) continue;
    best = cycles;
    plan.grid_m = grid_m;
    plan.grid_n = grid_n;
  }
}

static inline GemmPlan make_gemm_plan(const GemmShape& shape, int threads) {
  GemmPlan plan{};
  plan.team =
      team_size(2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k), threads);
  choose_grid(plan, shape.m, shape.n);
  const std::int64_t panels = divide_up(divide_up(shape.n, kTilePair), plan.grid_n), steps = max_of(steps_of(shape.k), 1);
  const bool few_rows = divide_up(shape.m, plan.grid_m) <= kFewRows;
  const std::int64_t bytes = few_rows ? kFewRowsBlockBytes : kBlockBytes;
  const std::int64_t deep_panels = bytes / (steps * kStepBytes);  // of a block with all of k
  std::int64_t most = panels <= kMaxPanels ? panels : few_rows ? kPanelsOfFewRows : kPanels;
  if (deep_panels >= kMinPanels) most = min_of(most, deep_panels);
  plan.panels = divide_up(panels, divide_up(panels, most));
  plan.k_blocks = divide_up(plan.panels * steps * kStepBytes, bytes);
  plan.block_steps = divide_up(steps, plan.k_blocks);
  plan.k_blocks = divide_up(steps, plan.block_steps);
  plan.tile_steps = divide_up(plan.block_steps, divide_up(plan.block_steps, kTileSteps));
  plan.pack_a = !tiles_in_place(shape, plan.tile_steps);
  plan.row_block = round_up(shape.m, kTilePair);
  if (plan.k_blocks > 1) plan.row_block = min_of(plan.row_block, kMaxRows * plan.grid_m);
  if (plan.pack_a)
    plan.row_block = min_of(plan.row_block, max_of(kPackedReals / (steps * kStepReals) * kTilePair, kMinRows * plan.grid_m));
  plan.a_reals = plan.pack_a ? plan.row_block * steps * kStepDepth : 0;
  plan.row_sums = plan.tile_steps < plan.block_steps ? plan.panels * kTileFloats : 0;
  plan.block_sums = plan.k_blocks > 1 ? divide_up(plan.row_block / kTilePair, plan.grid_m) * plan.panels * kTileFloats : 0;
  plan.b_reals = shape.packed_b ? 0 : plan.panels * plan.block_steps * kStepReals;
  return plan;
}

// Which rows of a block of rows, and which columns of C, belong to a part.
static inline Range rows_of_part(const GemmPlan& plan, std::int64_t rows, int part) {
  return part_of(rows, part / plan.grid_n, plan.grid_m, kTilePair);
}
static inline Range columns_of_part(const GemmPlan& plan, std::int64_t n, int part) {
  return part_of(n, part % plan.grid_n, plan.grid_n, kTilePair);
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
