// How a matrix product is cut into blocks, for threads and for caches; gemm.cpp says how they are gone through. k counts words.
#pragma once

#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/gemm/team.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// Depth of a block: reading and writing C costs one pass in 384, and a tile of A (14 x 384 words) stays in a first-level cache
// of 32 KiB while panels of B stream past it.
constexpr std::int64_t kBlockK = 384;
// Panels of B that stay in the second-level cache (8 x 32 x 384 words), and the rows of A that pass by them (224 x 384): each
// a third of 1 MiB.
constexpr std::int64_t kGroupPanels = 8;
constexpr std::int64_t kBlockM = 224;
// Words of a block of B, of which two fit a last-level cache: columns of a block, and as many blocks of k as there is room for.
constexpr std::int64_t kBlockN = 2048;
constexpr std::int64_t kBlockWords = kBlockN * kBlockK;
// Where few rows make use of a thread's block of B, it is small enough to stay in the second-level cache together with what
// comes after it: 256 KiB.
constexpr std::int64_t kFewRows = 224;
constexpr std::int64_t kStreamedWords = 65536;
// Up to so many columns all of them are taken, and less of k; beyond, less columns.
constexpr std::int64_t kStreamedColumns = 512;
// A packed copy of B costs a thread as much as about 6 rows; fewer than these do without. Rows of B that begin within a line
// are always copied: reading them costs twice the loads.
constexpr std::int64_t kRowsInPlace = 112;
// Rows of A that are shorter than this follow each other so closely that they are read in place as fast as from a packed copy,
// unless more columns than kManyColumns make use of the copy.
constexpr std::int64_t kShortRow = 64;
constexpr std::int64_t kManyColumns = 96;

// Whether partial sums cannot lie in C.
constexpr bool kSumApart = sizeof(Real) != sizeof(float);

struct GemmPlan {
  int team, grid_m, grid_n;  // grid_m * grid_n == team
  std::int64_t tile_rows;    // at most
  std::int64_t k_blocks, block_k;
  std::int64_t n_blocks, block_n;  // block_n: a multiple of the panel
  std::int64_t k_at_once;          // blocks of k of a block of B
  std::int64_t block_m;            // a multiple of tile_rows
  bool pack_a, b_in_place;
  std::int64_t a_stride;          // of packed A
  std::int64_t group_words;       // of the panels of one column of the grid, in a block of B one block of k deep
  std::int64_t a_words, b_words;  // of one thread's block of A, of one of the two blocks of B
  // Of partial sums, where they lie in the workspace: those of a thread's block of rows if it takes all of k at once.
  std::int64_t sum_floats, sum_stride;
};

// The grid whose largest rectangle is smallest, and of those the squarest.
static inline void choose_grid(GemmPlan& plan, std::int64_t m, std::int64_t n) {
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

static inline GemmPlan make_gemm_plan(const GemmShape& shape, int threads) {
  GemmPlan plan{};
  plan.team =
      team_size(2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k), threads);
  plan.tile_rows = kMaxRows[panel_vectors(shape.n)];
  choose_grid(plan, shape.m, shape.n);
  const std::int64_t rows = divide_up(shape.m, plan.grid_m);
  std::int64_t most_k = kBlockK, most_n = kBlockN;
  if (rows <= kFewRows && plan.grid_m == 1) {
    const std::int64_t columns = round_up(divide_up(shape.n, plan.grid_n), kPanelColumns);
    if (columns <= kStreamedColumns) {
      most_k = min_of(kBlockK, max_of(kStreamedWords / columns, kLanes));
    } else {
      most_n = round_up(kStreamedWords / kBlockK, kPanelColumns) * plan.grid_n;
    }
  }
  plan.k_blocks = divide_up(words_of(shape.k), most_k);
  plan.block_k = divide_up(words_of(shape.k), plan.k_blocks);
  plan.n_blocks = divide_up(shape.n, most_n);
  plan.block_n = round_up(divide_up(shape.n, plan.n_blocks), kPanelColumns);
  plan.n_blocks = divide_up(shape.n, plan.block_n);
  plan.b_in_place = kWordDepth == 1 && !shape.transpose_b && shape.n % kLanes == 0 && plan.grid_m == 1 && rows <= kRowsInPlace;
  plan.k_at_once = rows <= kFewRows ? 1 : min_of(max_of(kBlockWords / (plan.block_n * plan.block_k), 1), plan.k_blocks);
  plan.block_m = round_up(divide_up(rows, divide_up(rows, kBlockM)), plan.tile_rows);
  plan.pack_a =
      shape.transpose_a || shape.k % kWordDepth != 0 || words_of(shape.k) >= kShortRow || shape.n / plan.grid_n >= kManyColumns;
  if (shape.transpose_a && kPackedTransposedA == AccessA::columns) {
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
  plan.b_words = plan.k_at_once * plan.grid_n * plan.group_words;
  plan.sum_stride = kSumApart ? round_up(min_of(plan.block_n, shape.n), 16) : shape.n;
  if (kSumApart && plan.k_blocks > 1)
    plan.sum_floats = (plan.k_at_once == plan.k_blocks ? plan.team * plan.block_m : shape.m) * plan.sum_stride;
  return plan;
}

// Blocks of B in the workspace: two where threads pack for each other, so that the next is packed while others still multiply.
static inline std::int64_t buffers_of(const GemmPlan& plan) { return plan.grid_m > 1 ? 2 : 1; }

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
