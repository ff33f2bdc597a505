// How a product of bytes is divided, for threads and for caches.
#pragma once

#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/gemm/team.h"
#if EPOCHBENCH_AMX
#include "kernels/cpu/gemm/tiles_amx.h"
#endif
#include "kernels/int8.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// A block of rows stays in the L2 cache while all panels of weights stream past it. The panels stay there too if they are one
// group; otherwise each block reads all groups once more.
constexpr std::int64_t kBlockBytes = 192 << 10;
// Rows of a tile, and rows that it always reads; bytes of a group of panels; bytes of a block of rows if there are several
// groups; and the number of columns that a row is multiplied by in the time it takes to gather it.
#if EPOCHBENCH_AMX
// A group takes half of the L2 cache, which is 2 MiB on every CPU with AMX. Tiles multiply eight times as many bytes per cycle
// as vectors: a group used by only a few tiles would arrive from L3 more slowly than it is multiplied, and rows need not stay
// in the L2 cache, since a tile of them is multiplied by all panels of a group before the next one.
constexpr std::int64_t kInt8Rows = kTilePair, kInt8RowsAtOnce = kTilePair, kGroupBytes = 1 << 20;
constexpr std::int64_t kSeveralGroupsBlockBytes = 2 << 20, kGatherColumns = 32;
#else
constexpr std::int64_t kInt8Rows = kMr[2], kInt8RowsAtOnce = 1, kGroupBytes = 512 << 10;
constexpr std::int64_t kSeveralGroupsBlockBytes = kBlockBytes, kGatherColumns = 4;
#endif

// Words of a kernel row, and of a panel.
static inline std::int64_t row_words(const Conv2dShape& s) { return int8_row_words(s) * 4 / kWordDepth; }
static inline std::int64_t panel_words(const Conv2dShape& s) { return int8_words(s) * 4 / kWordDepth; }

struct Int8Plan {
  int team, grid_m, grid_n;  // grid_m * grid_n == team
  bool in_place;             // rows of A are those of x
  std::int64_t k;            // words to multiply
  std::int64_t row_bytes;    // between gathered rows
  std::int64_t block_rows;   // a multiple of kInt8Rows
  std::int64_t group_columns;
  std::int64_t row_sums;  // int32 numbers per thread, [panels of a group, 32, 32], if k is multiplied in several pieces
};

static inline std::int64_t rows_of(const Conv2dShape& s) { return s.batch * s.out_height * s.out_width; }

#if EPOCHBENCH_AMX
// Equal pieces of k, in steps: 32 rows of a piece stay in the L1 cache while the panels of a group stream past.
static inline Tiles pieces_of(const Conv2dShape& s) { return cut(int8_words(s) / kTileDepth, kTileSteps); }
#endif

// Whether x contains the rows of A as they would be gathered.
static inline bool rows_in_place(const Conv2dShape& s) {
  if (s.kernel_height != 1 || s.kernel_width != 1 || s.stride != 1 || s.padding != 0) return false;
#if EPOCHBENCH_AMX
  return s.channels % 64 == 0 && rows_suit_l1(s.channels / 64, pieces_of(s)[0].end);
#else
  return sizeof(Activation) == 1 && s.channels % kWordDepth == 0 && !rows_conflict(s.channels / kWordDepth, kInt8Rows);
#endif
}

// Chooses the grid in which the largest rectangle takes the least time.
static inline void choose_int8_grid(Int8Plan& plan, std::int64_t m, std::int64_t n) {
  std::int64_t best = -1;
  for (int grid_m = 1; grid_m <= plan.team; ++grid_m) {
    if (plan.team % grid_m != 0) continue;
    const std::int64_t rows = round_up(divide_up(m, grid_m), m < grid_m * kInt8Rows ? kInt8RowsAtOnce : kInt8Rows);
    const std::int64_t columns = divide_up(divide_up(n, kNr), plan.team / grid_m) * kNr;
    const std::int64_t time = rows * (columns + (plan.in_place ? 0 : kGatherColumns));
    if (best >= 0 && time >= best) continue;
    best = time;
    plan.grid_m = grid_m;
    plan.grid_n = plan.team / grid_m;
  }
}

static inline Int8Plan make_int8_plan(const Conv2dShape& shape, int threads) {
  Int8Plan plan{};
  const std::int64_t rows = rows_of(shape), k = shape.kernel_height * row_words(shape);
  plan.team = team_size(
      2.0 * static_cast<double>(rows) * static_cast<double>(shape.out_channels) * static_cast<double>(k * kWordDepth), threads);
  plan.in_place = rows_in_place(shape);
  choose_int8_grid(plan, rows, shape.out_channels);
  plan.k = EPOCHBENCH_AMX ? panel_words(shape) : k;
  constexpr std::int64_t kWordBytes = sizeof(Word);
  plan.row_bytes = spread_stride(panel_words(shape)) * kWordBytes;
  const std::int64_t panels = divide_up(divide_up(shape.out_channels, kNr), plan.grid_n);
  const std::int64_t groups = divide_up(panels, max_of(kGroupBytes / (panel_words(shape) * kNr * kWordBytes), 1));
  plan.group_columns = divide_up(panels, groups) * kNr;
  const std::int64_t bytes = groups > 1 ? kSeveralGroupsBlockBytes : kBlockBytes;
  const std::int64_t most = max_of(bytes / plan.row_bytes / kInt8Rows, 1);
  const std::int64_t tiles = divide_up(divide_up(rows, plan.grid_m), kInt8Rows);
  plan.block_rows = divide_up(tiles, divide_up(tiles, most)) * kInt8Rows;
#if EPOCHBENCH_AMX
  if (pieces_of(shape).count > 1) plan.row_sums = divide_up(plan.group_columns, kTilePair) * kTileFloats;
#endif
  return plan;
}

// Which rows and which columns belong to a part.
static inline Range rows_of_part(const Int8Plan& plan, std::int64_t m, int part) {
  return part_of(m, part / plan.grid_n, plan.grid_m, m < plan.grid_m * kInt8Rows ? 1 : kInt8Rows);
}
static inline Range columns_of_part(const Int8Plan& plan, std::int64_t n, int part) {
  return part_of(n, part % plan.grid_n, plan.grid_n, kNr);
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
