// Copies operands of a matrix product into the tiles that AMX multiplies: 1 KiB each, 16 rows of 64 bytes. Only in builds with
// AMX tiles.
//
// A step is 32 Reals of k. A tile of A has 32 rows, as [steps, 32 rows, 32 of k]. A panel of B has 32 columns, as [steps, 16
// pairs of k, 32 columns, 2 of k]; the columns are in the order that interleaving two rows of B in registers gives
// (interleaved_column). Whatever is outside the operand is zero.
#pragma once

#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/gemm/tiles_amx.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

constexpr std::int64_t kStepDepth = kTileDepth * kWordDepth;  // Reals of k
constexpr std::int64_t kStepReals = kTilePair * kStepDepth;   // of a tile of A or a panel of B in one step
constexpr std::int64_t kStepBytes = kStepReals * sizeof(Real);

// Part of an operand: `k` and `count` (rows of A, columns of B) Reals, at `data`. transposed: A[row, k] is data[k * stride +
// row], B[k, column] is data[column * stride + k]; otherwise A[row, k] is data[row * stride + k], B[k, column] is data[k *
// stride + column].
struct Operand {
  const Real* data;
  std::int64_t stride, k, count;
  bool transposed;
};

static inline std::int64_t steps_of(std::int64_t k) { return divide_up(k, kStepDepth); }

// to [steps of k, 32, 32]; a.count is 1 to 32.
void pack_tile_a(Real* to, const Operand& a);
// to [panels of count, steps of k, 32 x 32]
void pack_block_b(Real* to, const Operand& b);

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
