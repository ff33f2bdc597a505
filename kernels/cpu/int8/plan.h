// How a product of bytes is divided, for threads and for caches.
#pragma once

#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/gemm/team.h"
#include "kernels/int8.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// A block of rows stays in the L2 cache while all panels of weights pass by.
constexpr std::int64_t kBlockBytes = 192 << 10;
// Gathering a row costs about as much as multiplying it with this many columns.
constexpr std::int64_t kGatherColumns = 4;
// Rows of a tile, and rows that it always reads; and bytes of a group of panels, which stays in the L2 cache beside a block of
// rows. CPUs with AMX have 2 MiB of L2 cache.
#if EPOCHBENCH_AMX
constexpr std::int64_t kInt8Rows = 32, kInt8RowsAtOnce = 32, kGroupBytes = 1 << 20;
#else
constexpr std::int64_t kInt8Rows = kMr[2], kInt8RowsAtOnce = 1, kGroupBytes = 512 << 10;
#endif

struct Int8Plan {
  int team, grid_m, grid_n;  // grid_m * grid_n == team
  bool in_place;             // rows of A are those of x
  std::int64_t k;            // words to multiply
  std::int64_t row_bytes;    // between gathered rows
  std::int64_t block_rows;   // a multiple of kInt8Rows
  std::int64_t group_columns;
};

static inline std::int64_t rows_of(const Conv2dShape& s) { return s.batch * s.out_height * s.out_width; }

// Whether a row of A lies in x as it would be gathered.
static inline bool rows_in_place(const Conv2dShape& s) {
  if (s.kernel_height != 1 || s.kernel_width != 1 || s.stride != 1 || s.padding != 0) return false;
#if EPOCHBENCH_AMX
  return s.channels % 64 == 0 && s.channels % 1024 != 0;  // whole lines, and not all in the same sets of the L1 cache
#else
  return s.channels % kWordDepth == 0 && !rows_conflict(s.channels / kWordDepth, kInt8Rows);
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
  const std::int64_t rows = rows_of(shape), k = shape.kernel_height * int8_row_words(shape);
  plan.team = team_size(
      2.0 * static_cast<double>(rows) * static_cast<double>(shape.out_channels) * static_cast<double>(k * kWordDepth), threads);
  plan.in_place = rows_in_place(shape);
  choose_int8_grid(plan, rows, shape.out_channels);
  plan.k = EPOCHBENCH_AMX ? int8_words(shape) : k;
  plan.row_bytes = spread_stride(int8_words(shape)) * kWordDepth;
  const std::int64_t most = max_of(kBlockBytes / plan.row_bytes / kInt8Rows, 1);
  const std::int64_t tiles = divide_up(divide_up(rows, plan.grid_m), kInt8Rows);
  plan.block_rows = divide_up(tiles, divide_up(tiles, most)) * kInt8Rows;
  const std::int64_t panels = divide_up(divide_up(shape.out_channels, kNr), plan.grid_n);
  const std::int64_t groups = divide_up(panels, max_of(kGroupBytes / (int8_words(shape) * kNr * kWordDepth), 1));
  plan.group_columns = divide_up(panels, groups) * kNr;
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
