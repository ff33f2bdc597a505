// Transposes a square of words, kLanes by kLanes, in registers.
#pragma once

#include "kernels/cpu/gemm/microkernel.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

#if EPOCHBENCH_BFMMLA
// As below.
template <int kBlock>
inline __attribute__((always_inline)) void transpose(WordVec (&rows)[kLanes]) {
  static_assert(kLanes == 4);
  const auto [a, b, c, d] = rows;
  rows[0] = {vtrn1q_u64(a.low, b.low), vtrn1q_u64(c.low, d.low)};
  rows[1] = {vtrn2q_u64(a.low, b.low), vtrn2q_u64(c.low, d.low)};
  rows[2] = {vtrn1q_u64(a.high, b.high), vtrn1q_u64(c.high, d.high)};
  rows[3] = {vtrn2q_u64(a.high, b.high), vtrn2q_u64(c.high, d.high)};
}
#else
// Lanes of the pair (a, b): blocks of kBlock lanes at even positions, or at odd ones.
template <int kBlock>
constexpr int even_block_lane(int lane) {
  return (lane & kBlock) != 0 ? kLanes + lane - kBlock : lane;
}
template <int kBlock>
constexpr int odd_block_lane(int lane) {
  return (lane & kBlock) != 0 ? kLanes + lane : lane + kBlock;
}

// Lane j of rows[i] becomes lane i of rows[j], in log2(kLanes) exchanges of blocks that halve each time.
template <int kBlock>
inline __attribute__((always_inline)) void transpose(WordVec (&rows)[kLanes]) {
  if constexpr (kBlock > 0) {
    constexpr auto kEven = even_block_lane<kBlock>, kOdd = odd_block_lane<kBlock>;
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) {
      if ((i & kBlock) == 0) {
        const WordVec a = rows[i], b = rows[i + kBlock];
        rows[i] = pick_lanes<kEven>(a, b);
        rows[i + kBlock] = pick_lanes<kOdd>(a, b);
      }
    }
    transpose<kBlock / 2>(rows);
  }
}
#endif

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
