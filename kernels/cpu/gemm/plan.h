// How a matrix product is divided into blocks, for threads and for caches. gemm.cpp describes the order. k counts words. Block
// sizes are named as in BLIS (Van Zee and van de Geijn, 2015).
#pragma once

#include "kernels/cpu/gemm/blocking.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/gemm/team.h"
#include "kernels/cpu/shares.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// KC, the depth of a block: C is read and written once per 384 products, and a tile of A (14 x 384 words) stays in a 32 KiB L1
// cache while panels of B stream past it. A block has half as many 64-bit words.
constexpr std::int64_t kKc = 384 / kWordFloats;
// NC, the columns of a block of B, and the words of a block: two blocks fit a last-level cache, and a narrow block is deeper.
constexpr std::int64_t kNc = 2048;
constexpr std::int64_t kBlockWords = kNc * kKc;
// If only a few rows use a thread's block of B, the block is small enough to stay in the L2 cache together with the next one:
// 256 KiB.
constexpr std::int64_t kFewRows = 224;
constexpr std::int64_t kStreamedWords = 65536 / kWordFloats;
// Packing a copy of B costs a thread as much as multiplying it with about 6 rows. Rows of B that start within a cache line
// are always copied: reading them in place costs twice the loads.
constexpr std::int64_t kPackingRows = 6;
// Reading a B that was packed before costs as much as multiplying it with about 2 rows. Such a B takes no room in the
// workspace, so its blocks have as many columns per thread as keep the thread's rows of C in the L2 cache.
constexpr std::int64_t kReadingRows = 2, kPackedColumns = 1024;
// Rows of A shorter than this are so close together that reading them in place is as fast as reading a packed copy, unless more
// than kManyColumns columns use the copy.
constexpr std::int64_t kShortRow = 64 / kWordFloats;
constexpr std::int64_t kManyColumns = 96;

// Whether partial sums cannot be stored in C.
constexpr bool kSumInWorkspace = !kRealWords;

// Whether A is packed in tiles for AccessA::columns.
static inline bool packs_columns(const GemmShape& shape) {
  return shape.transpose_a ? kPackedTransposedA == AccessA::columns : kPackedA == AccessA::columns;
}

struct GemmPlan {
  int team, grid_m, grid_n;  // grid_m * grid_n == team
  std::int64_t mr;           // maximum rows of a tile
  std::int64_t k_blocks, kc;
  std::int64_t n_blocks, nc;        // nc: a multiple of kNr
  std::int64_t k_blocks_per_stage;  // blocks of k in one block of B
  std::int64_t group_panels;        // panels of B that stay in the L2 cache while rows of A pass through
  std::int64_t mc;                  // a multiple of mr
  int shares;                       // of a part, each of whole blocks of mc rows: kShares, or 1 if others do not help
  bool pack_a, b_in_place;
  bool prefetch_a;                // whether it pays to prefetch A; not for short rows
  std::int64_t a_stride;          // of packed A
  std::int64_t group_words;       // the panels of one grid column, for one block of k
  std::int64_t a_words, b_words;  // one thread's block of A, one of the two blocks of B
  // Partial sums of one thread in the workspace: of a block of rows if a stage covers all of k, else of all its rows. Threads
  // share none: without barriers they are in different blocks of columns, which may be divided differently.
  std::int64_t sum_floats, sum_stride;
};

// Rows of C are divided at multiples of this number.
static inline std::int64_t row_grain(std::int64_t m, int grid_m, std::int64_t mr) { return m < grid_m * mr ? 1 : mr; }

// Chooses the grid in which the largest rectangle takes the least time: a thread multiplies it, packs its rows of A, and packs
// its columns of B together with the threads that own other rows of these columns, or reads them all if they are packed.
static inline void choose_grid(GemmPlan& plan, std::int64_t m, std::int64_t n, bool packed_b) {
  std::int64_t best = -1;
  for (int grid_m = 1; grid_m <= plan.team; ++grid_m) {
    if (plan.team % grid_m != 0) continue;
    const std::int64_t rows = round_up(divide_up(m, grid_m), row_grain(m, grid_m, plan.mr));
    const std::int64_t columns = divide_up(divide_up(n, kNr), plan.team / grid_m) * kNr;
    const std::int64_t time_of_b = packed_b ? kReadingRows * columns : kPackingRows * (columns / grid_m);
    const std::int64_t time = rows * columns + kPackingRows * rows + time_of_b;
    if (best >= 0 && time >= best) continue;
    best = time;
    plan.grid_m = grid_m;
    plan.grid_n = plan.team / grid_m;
  }
}

static inline GemmPlan make_gemm_plan(const GemmShape& shape, int threads, const Blocking& blocking) {
  GemmPlan plan{};
  plan.team =
      team_size(2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k), threads);
  plan.mr = kMr[panel_vectors(shape.n)];
  choose_grid(plan, shape.m, shape.n, shape.packed_b);
  const std::int64_t rows = divide_up(shape.m, plan.grid_m);
  std::int64_t max_k = kKc, max_n = kNc;
  if (shape.packed_b) {
    max_n = kPackedColumns * plan.grid_n;
  } else if (rows <= kFewRows && plan.grid_m == 1) {
    const std::int64_t columns = round_up(divide_up(shape.n, plan.grid_n), kNr);
    if (columns <= blocking.streamed_columns) {
      max_k = min_of(kKc, max_of(kStreamedWords / columns, kLanes));
    } else {
      max_n = round_up(kStreamedWords / kKc, kNr) * plan.grid_n;
    }
  }
  plan.k_blocks = divide_up(word_count(shape.k), max_k);
  plan.kc = divide_up(word_count(shape.k), plan.k_blocks);
  // The same number of panels of a block for each column of the grid: blocks of a few panels would leave threads idle.
  const std::int64_t panels = divide_up(divide_up(shape.n, kNr), plan.grid_n);
  plan.nc = divide_up(panels, divide_up(shape.n, max_n)) * kNr * plan.grid_n;
  plan.n_blocks = divide_up(shape.n, plan.nc);
  plan.b_in_place = kRealWords && !shape.transpose_b && !shape.packed_b && shape.n % kLanes == 0 && plan.grid_m == 1 &&
                    rows <= blocking.rows_in_place;
  plan.k_blocks_per_stage = rows <= kFewRows ? 1
                            : shape.packed_b ? plan.k_blocks
                                             : min_of(max_of(kBlockWords / (plan.nc * plan.kc), 1), plan.k_blocks);
  plan.group_panels = max_of(blocking.group_panels * kKc / max_of(plan.kc, 1), 1);
  plan.mc = round_up(divide_up(rows, divide_up(rows, blocking.mc)), plan.mr);
  plan.shares = plan.grid_m > 1 && !shape.packed_b ? kShares : 1;
  plan.pack_a = kWidens || shape.transpose_a || shape.k % kWordDepth != 0 || word_count(shape.k) >= kShortRow ||
                shape.n / plan.grid_n >= kManyColumns;
  plan.prefetch_a = plan.pack_a;
  if (!kWidens && !shape.transpose_a && shape.k % kWordDepth == 0 &&
      rows_per_set(shape.k / kWordDepth, plan.mr) <= blocking.rows_per_set)
    plan.pack_a = false;
  if (packs_columns(shape)) {
    plan.a_stride = round_up(plan.mr, kLanes);
    plan.a_words = divide_up(plan.mc, plan.mr) * plan.a_stride * plan.kc;
  } else {
    plan.a_stride = round_up(plan.kc, kLanes);
    if (rows_conflict(plan.a_stride, plan.mr)) plan.a_stride += 16;
    plan.a_words = plan.mc * plan.a_stride;
  }
  plan.a_words = plan.pack_a ? round_up(plan.a_words, 16) : 0;
  const std::int64_t columns = divide_up(divide_up(min_of(plan.nc, shape.n), kNr), plan.grid_n) * kNr;
  plan.group_words = round_up(min_of(columns, packed_columns(shape.n)) * plan.kc, 16);
  plan.b_words = shape.packed_b ? 0 : plan.k_blocks_per_stage * plan.grid_n * plan.group_words;
  plan.sum_stride = kSumInWorkspace ? columns : shape.n;
  if (kSumInWorkspace && plan.k_blocks > 1) {
    const std::int64_t all_rows = round_up(rows, row_grain(shape.m, plan.grid_m, plan.mr));
    plan.sum_floats = (plan.k_blocks_per_stage == plan.k_blocks ? plan.mc : all_rows) * plan.sum_stride;
  }
  return plan;
}

// Which rows of C, and which columns of a block of columns, belong to a part.
static inline Range rows_of_part(const GemmPlan& plan, std::int64_t m, int part) {
  return part_of(m, part / plan.grid_n, plan.grid_m, row_grain(m, plan.grid_m, plan.mr));
}
// The rows of a share of it.
static inline Range rows_of_share(const GemmPlan& plan, Range part, int share) {
  const Range blocks = part_of(divide_up(part.end - part.begin, plan.mc), share, plan.shares, 1);
  return {min_of(part.begin + blocks.begin * plan.mc, part.end), min_of(part.begin + blocks.end * plan.mc, part.end)};
}
static inline Range columns_of_part(const GemmPlan& plan, Range block, int part) {
  const Range columns = part_of(block.end - block.begin, part % plan.grid_n, plan.grid_n, kNr);
  return {columns.begin + block.begin, columns.end + block.begin};
}

// Blocks of B in the workspace: two if threads pack for each other, so that one is packed while others multiply the previous
// one.
static inline std::int64_t buffers_of(const GemmPlan& plan) { return plan.grid_m > 1 ? 2 : 1; }

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
