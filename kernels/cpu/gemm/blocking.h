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
};

// For 1 MiB of L2 cache, as AMD's cores have since Zen 4.
constexpr Blocking kSmallL2{512, 0};
// 48 KiB of L1 cache in 12 ways and 2 MiB of L2 cache, as Intel's cores have since Golden Cove. Eight of the ways hold a tile
// of rows while B passes through the others, so a copy of A gains nothing. Blocks of B with whole rows are read in the order of
// memory, which hardware prefetchers follow.
constexpr Blocking kLargeL2{2048, 8};

static inline const Blocking& blocking_of(const Caches& caches) {
  return caches.l1_bytes >= 48 * 1024 && caches.l1_ways >= 12 && caches.l2_bytes >= 2048 * 1024 ? kLargeL2 : kSmallL2;
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
