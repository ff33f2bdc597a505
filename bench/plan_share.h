// How the kernels divide a matrix product among threads, from their plans alone. The result is a bound: it leaves out memory,
// the start of a team and waiting at barriers. Requires a CPU with AVX-512, for which the plans are compiled.
#pragma once

#include <cstdint>

#include "kernels/shapes.h"

namespace epochbench::bench {

struct PlanShare {
  int grid_m = 1, grid_n = 1;  // rectangles of C, down and across; one per thread
  double multiplied = 0;       // multiply-adds of the thread with the most work, whole vectors or tiles
  double packed = 0;           // multiply-adds that would take as long as its copying into blocks
  std::int64_t barriers = 0;   // of the team
};

PlanShare avx512_share(const GemmShape& shape, int threads, bool large_l2);  // of floats; large_l2: 2 MiB and an L1 of 48 KiB
PlanShare amx_share(const GemmShape& shape, int threads);                    // of bf16

// The fraction of the threads' time in which they multiply what the product needs.
inline double efficiency(const PlanShare& share, const GemmShape& shape, int threads) {
  const double needed = static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
  return needed / threads / (share.multiplied + share.packed);
}

}  // namespace epochbench::bench
