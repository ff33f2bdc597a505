// The AMX side of the microkernel: the sizes of its tiles, and the instructions on them. The loops are in microkernel_amx.cpp.
//
// In a build for tests on other CPUs (EPOCHBENCH_AMX_MODEL) the instructions are functions that the tests define.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/isa.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// Four registers of 16 x 16 sums, two of A and two of B: eight, which is all there are. A tile that is one vector wide takes
// two.
constexpr int kMaxVectors = 2;
constexpr int kMaxRows[] = {0, 32, 32};
constexpr std::int64_t kTileRows = 16;   // of a register
constexpr std::int64_t kTileDepth = 16;  // words of a row of A, rows of B
constexpr std::int64_t kAheadStep = kTileDepth;
// Nothing is broadcast: A is loaded by rows. Of AccessA::columns it is transposed each time.
constexpr AccessA kPackedTransposedA = AccessA::rows;

}  // namespace epochbench::cpu::EPOCHBENCH_ISA

// Macros, as the number of a register is part of the instruction. To the compiler the intrinsics of g++ before 13 touch no
// memory, so it is told.
#if EPOCHBENCH_AMX_MODEL
#include "kernels/cpu/gemm/amx_model.h"
#define EPOCHBENCH_TILE_CONFIG(config) ::epochbench::amx_model::load_config(config)
#define EPOCHBENCH_TILE_LOAD(tile, base, stride) ::epochbench::amx_model::load(tile, base, stride)
#define EPOCHBENCH_TILE_STORE(tile, base, stride) ::epochbench::amx_model::store(tile, base, stride)
#define EPOCHBENCH_TILE_ZERO(tile) ::epochbench::amx_model::zero(tile)
#define EPOCHBENCH_TILE_MULTIPLY_ADD(sum, a, b) ::epochbench::amx_model::multiply_add(sum, a, b)
#define EPOCHBENCH_TILE_RELEASE() ::epochbench::amx_model::release()
#else
#define EPOCHBENCH_TILE_MEMORY() asm volatile("" ::: "memory")
#define EPOCHBENCH_TILE_CONFIG(config) \
  (__extension__({                     \
    EPOCHBENCH_TILE_MEMORY();          \
    _tile_loadconfig(config);          \
  }))
#define EPOCHBENCH_TILE_LOAD(tile, base, stride) \
  (__extension__({                               \
    EPOCHBENCH_TILE_MEMORY();                    \
    _tile_loadd(tile, base, stride);             \
  }))
#define EPOCHBENCH_TILE_STORE(tile, base, stride) \
  (__extension__({                                \
    _tile_stored(tile, base, stride);             \
    EPOCHBENCH_TILE_MEMORY();                     \
  }))
#define EPOCHBENCH_TILE_ZERO(tile) _tile_zero(tile)
#define EPOCHBENCH_TILE_MULTIPLY_ADD(sum, a, b) _tile_dpbf16ps(sum, a, b)
#define EPOCHBENCH_TILE_RELEASE() _tile_release()
#endif
