// Transposes a square of words, kLanes by kLanes, in registers.
#pragma once

#include "kernels/cpu/gemm/microkernel.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

#if EPOCHBENCH_NEON && EPOCHBENCH_BF16
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
typedef std::int32_t VecLanes __attribute__((vector_size(sizeof(WordVec))));

// Lane j of rows[i] becomes lane i of rows[j], in log2(kLanes) exchanges of blocks that halve each time.
template <int kBlock>
inline __attribute__((always_inline)) void transpose(WordVec (&rows)[kLanes]) {
  if constexpr (kBlock > 0) {
    VecLanes low{}, high{};  // lanes of the pair (a, b); lanes of b are numbered from kLanes
#pragma GCC unroll 16
    for (int lane = 0; lane < kLanes; ++lane) {
      const bool second = (lane & kBlock) != 0;
      low[lane] = second ? kLanes + lane - kBlock : lane;
      high[lane] = second ? kLanes + lane : lane + kBlock;
    }
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) {
      if ((i & kBlock) == 0) {
        const WordVec a = rows[i], b = rows[i + kBlock];
        rows[i] = __builtin_shuffle(a, b, low);
        rows[i + kBlock] = __builtin_shuffle(a, b, high);
      }
    }
    transpose<kBlock / 2>(rows);
  }
}
#endif

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
