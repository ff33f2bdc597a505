// Fetches what will be packed next into the second-level cache while the present block is multiplied: so packing does not wait
// for memory, nor the products for packing. A few lines at a time, as a burst of them would keep the loads behind it waiting.
#pragma once

#include "kernels/cpu/isa.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// Rows of a matrix, in bytes.
struct AheadRows {
  const char* first = nullptr;
  std::int64_t rows = 0, length = 0, stride = 0;

  std::int64_t lines() const { return rows * ((length + 126) / 64); }
};

// Fetches `now`, then `then`. A plain struct whose code is in line: it runs between the sums of a tile.
struct Ahead {
  AheadRows now, then;
  std::int64_t at = 0;     // in the first row of `now`
  std::int64_t lines = 0;  // at a time

  inline __attribute__((always_inline)) void fetch() {
    for (std::int64_t i = lines; i > 0; --i) {
      if (now.rows <= 0) {
        if (then.rows <= 0) return;
        now = then;
        then.rows = 0;
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
