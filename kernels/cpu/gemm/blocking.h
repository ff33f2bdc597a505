// How matrix products are blocked on CPUs with different caches. plan.h has the common parts.
#pragma once

#include "kernels/cpu/gemm/caches.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

struct Blocking {
  // If only a few rows use a block of B: up to this many columns, it has all columns and less of k; beyond, fewer columns.
  std::int64_t streamed_columns;
  // Rows of A are read in place if at most this many rows of a tile start in the same set of the L1 cache. 0: only short rows
  // are read in place.
  std::int64_t rows_per_set;
  // Up to this many rows, B is read in place: packing a copy would take longer.
  std::int64_t rows_in_place;
  // MC, the maximum rows of A multiplied with a group of panels of B that stays in the L2 cache, and the panels of a group if
  // they have the maximum depth.
  std::int64_t mc, group_panels;
};

// For vectors of 16 floats and 1 MiB of L2 cache, as AMD's cores have since Zen 4: the group (8 x 32 columns, 384 deep; for
// NEON 32 x 8), the rows of A and the next ones are a third of it each.
constexpr Blocking kSmallL2{512, 0, 112, 224, EPOCHBENCH_NEON ? 32 : 8};
// 48 KiB of L1 cache in 12 ways and 2 MiB of L2 cache, as Intel's cores have since Golden Cove. Eight of the ways hold a tile
// of rows while B passes through the others, so a copy of A gains nothing. Blocks of B with whole rows are read in the order of
// memory, which hardware prefetchers follow.
constexpr Blocking kLargeL2{2048, 8, 112, 224, 8};

// For vectors of 8 floats, whose tiles have 6 rows, and 512 KiB of L2 cache, as Zen 1 to 3 have: as above, a third each. Half
// of the 8 ways of L1 hold the rows of a tile. A tile of 6 rows reads each panel of B more often than one of 14: where many
// rows do, a packed copy is faster.
constexpr Blocking kEightLanes{2048, 4, 24, 120, 4};
constexpr Blocking kEightLanesLargeL2{2048, 4, 112, 224, 8};  // from 1 MiB on, where B in place stays near

// lanes: floats of a vector.
static inline const Blocking& blocking_of(const Caches& caches, int lanes) {
  if (lanes == 8) return caches.l2_bytes >= 1024 * 1024 ? kEightLanesLargeL2 : kEightLanes;
  const bool large = caches.l1_bytes >= 48 * 1024 && caches.l1_ways >= 12 && caches.l2_bytes >= 2048 * 1024;
  return lanes == 16 && large ? kLargeL2 : kSmallL2;
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
