// Prefetches the data that will be packed next into the L2 cache while the current block is multiplied, so that packing does
// not wait for memory. Fetches a few lines at a time: a burst would delay the loads behind it.
#pragma once

#include "kernels/cpu/isa.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// Rows of a matrix; lengths in bytes.
struct PrefetchRows {
  const char* first = nullptr;
  std::int64_t rows = 0, length = 0, stride = 0;

  std::int64_t lines() const { return rows * ((length + 126) / 64); }
};

// Fetches what was added, one after the other. A plain struct whose code is inlined: it runs inside the loop of a tile.
struct Prefetcher {
  static constexpr std::int64_t kMore = 3;
  PrefetchRows now, more[kMore];
  std::int64_t added = 0, taken = 0;  // of `more`
  std::int64_t at = 0;                // position in the first row of `now`
  std::int64_t lines = 0;             // fetched per call

  // At most 1 + kMore times before the first fetch.
  void add(const PrefetchRows& rows) {
    if (rows.rows <= 0) return;
    (now.rows <= 0 ? now : more[added++]) = rows;
  }
  // Fetches everything within this number of calls.
  void spread(std::int64_t calls) {
    std::int64_t all = now.lines();
    for (std::int64_t i = 0; i < added; ++i) all += more[i].lines();
    lines = calls > 0 ? (all + calls - 1) / calls : all;
  }

  inline __attribute__((always_inline)) void fetch() {
    for (std::int64_t i = lines; i > 0; --i) {
      if (now.rows <= 0) {
        if (taken == added) return;
        now = more[taken++];
      }
      __builtin_prefetch(now.first + at, 0, 2);
      at += 64;
      if (at < now.length + 63) continue;
      at = 0;
      now.first += now.stride;
      --now.rows;
    }
  }
};

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
