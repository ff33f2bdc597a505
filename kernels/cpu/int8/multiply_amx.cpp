// Sums of a block of rows on AMX tiles: 32 rows by two panels, whose sums are in four tile registers for all of k; "Intel 64
// and IA-32 Architectures Software Developer's Manual", TDPBUSD. A tile of B is a piece of a packed panel, one of A is 16 rows
// of 64 bytes. Tiles always have 32 rows; the sums of those beyond a block are not used.
#include "kernels/cpu/gemm/tiles_amx.h"
#include "kernels/cpu/int8/product.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {
namespace {

constexpr std::int64_t kPieceBytes = 1024;  // 16 words of 16 columns

template <int kVectors>
void sum_tile(std::int32_t* sums, const std::uint8_t* a, std::int64_t a_stride, const std::int8_t* b, std::int64_t steps) {
  const TileStrides stride{a_stride, kTileRows * a_stride, 64, 64, kPieceBytes, steps * kPieceBytes};
  Progress progress{{}, sums, kStoreSteps};
  zero_sums<kVectors>();
  multiply_deep<kVectors, 0, 1, true>(reinterpret_cast<const char*>(a), reinterpret_cast<const char*>(b), stride, steps,
                                      progress);
  store_sums<kVectors>(sums);
}

}  // namespace

// Every tile has the same registers, so they are configured once per thread.
MicrokernelScope::MicrokernelScope() {
  const TileConfig config = tile_config(kTilePair);
  EPOCHBENCH_TILE_CONFIG(&config);
}
MicrokernelScope::~MicrokernelScope() { EPOCHBENCH_TILE_RELEASE(); }

// B passes by once per tile of rows, whose 32 rows of A stay in the L1 cache if they are not long.
void multiply_block(const Product& product, const Block& block) {
  const std::int64_t panel_words = int8_words(product.shape), steps = panel_words / kTileDepth;
  alignas(64) std::int32_t sums[kTilePair * kSumStride];
  for (std::int64_t row = block.rows.begin; row < block.rows.end; row += kTilePair) {
    const std::uint8_t* const a = block.a + (row - block.rows.begin) * block.a_stride;
    for (std::int64_t column = block.columns.begin; column < block.columns.end; column += kTilePair) {
      const std::int64_t count = min_of(kTilePair, block.columns.end - column);
      const std::int8_t* const b = product.weights + column * panel_words * kWordDepth;
      if (count > kLanes) {
        sum_tile<2>(sums, a, block.a_stride, b, steps);
      } else {
        sum_tile<1>(sums, a, block.a_stride, b, steps);
      }
      finish_tile(product, {sums, row, min_of(kTilePair, block.rows.end - row), column, count});
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
