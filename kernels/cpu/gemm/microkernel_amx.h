// The AMX part of the micro-kernel: tile sizes and instructions. The loops are in microkernel_amx.cpp.
//
// In a test build for other CPUs (EPOCHBENCH_AMX_MODEL) the instructions are functions that the tests define.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/isa.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// Four tile registers of 16 x 16 accumulators, two for A and two for B: all eight that exist. A tile of one vector's width uses
// two accumulators.
constexpr int kMaxVectors = 2;
constexpr int kMr[] = {0, 32, 32};
constexpr std::int64_t kTileRows = 16;   // rows of a tile register
constexpr std::int64_t kTileDepth = 16;  // words in a row of A, rows of B
constexpr std::int64_t kPrefetchStep = kTileDepth;
// If no tile is stored for about 1,600 cycles, which are 28 steps of 16 words, the next store takes 700 cycles longer (measured
// on Granite Rapids, wherever the data are). So a tile of B is stored every 12 steps, although it is not needed.
constexpr std::int64_t kStoreSteps = 12;
// Nothing is broadcast: A is loaded by rows. With AccessA::columns it is transposed for each load.
constexpr AccessA kPackedTransposedA = AccessA::rows;

// Configures the tile registers of this thread for 32 x 32 accumulators in registers 0 to 3, A in 4 and 5, B in 6 and 7: 16
// rows of 64 bytes each. Within a MicrokernelScope.
void configure_whole_tiles();

// The layout that LDTILECFG reads.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfig) == 64);

// Tile registers 0 and 1: accumulators of the first 16 of `rows` rows; 2 and 3: of the other rows; 4 and 5: A; 6 and 7: B.
static inline TileConfig tile_config(std::int64_t rows) {
  const auto low = static_cast<std::uint8_t>(min_of(rows, kTileRows)), high = static_cast<std::uint8_t>(rows - low);
  const std::uint8_t rows_of[] = {low, low, high, high, low, high, kTileDepth, kTileDepth};
  TileConfig config;
  for (int tile = 0; tile < 8; ++tile) {
    config.rows[tile] = rows_of[tile];
    config.row_bytes[tile] = rows_of[tile] > 0 ? 64 : 0;
  }
  return config;
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA

// Macros, because the register number is part of the instruction. Before version 13, g++ assumes that the intrinsics do not
// access memory; the barrier corrects that.
#if EPOCHBENCH_AMX_MODEL
#include "kernels/cpu/gemm/amx_model.h"
#define EPOCHBENCH_TILE_CONFIG(config) ::epochbench::amx_model::load_config(config)
#define EPOCHBENCH_TILE_LOAD(tile, base, stride) ::epochbench::amx_model::load(tile, base, stride)
#define EPOCHBENCH_TILE_LOAD_T1(tile, base, stride) ::epochbench::amx_model::load_t1(tile, base, stride)
#define EPOCHBENCH_TILE_STORE(tile, base, stride) ::epochbench::amx_model::store(tile, base, stride)
#define EPOCHBENCH_TILE_ZERO(tile) ::epochbench::amx_model::zero(tile)
#if EPOCHBENCH_INT8
#define EPOCHBENCH_TILE_MULTIPLY_ADD(sum, a, b) ::epochbench::amx_model::multiply_add_bytes(sum, a, b)
#else
#define EPOCHBENCH_TILE_MULTIPLY_ADD(sum, a, b) ::epochbench::amx_model::multiply_add(sum, a, b)
#endif
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
#define EPOCHBENCH_TILE_LOAD_T1(tile, base, stride) \
  (__extension__({                                  \
    EPOCHBENCH_TILE_MEMORY();                       \
    _tile_stream_loadd(tile, base, stride);         \
  }))
#define EPOCHBENCH_TILE_STORE(tile, base, stride) \
  (__extension__({                                \
    _tile_stored(tile, base, stride);             \
    EPOCHBENCH_TILE_MEMORY();                     \
  }))
#define EPOCHBENCH_TILE_ZERO(tile) _tile_zero(tile)
#if EPOCHBENCH_INT8
#define EPOCHBENCH_TILE_MULTIPLY_ADD(sum, a, b) _tile_dpbusd(sum, a, b)
#else
#define EPOCHBENCH_TILE_MULTIPLY_ADD(sum, a, b) _tile_dpbf16ps(sum, a, b)
#endif
#define EPOCHBENCH_TILE_RELEASE() _tile_release()
#endif
