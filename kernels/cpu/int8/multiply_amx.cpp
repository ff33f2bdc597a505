// Sums of a block of rows on AMX tiles: 32 rows by two panels, whose sums are in four tile registers; "Intel 64 and IA-32
// Architectures Software Developer's Manual", TDPBUSD. A tile of B is 16 words of a packed panel, one of A is 16 rows of 64
// bytes. Tiles always have 32 rows; the sums of those beyond a block are not used.
//
// Blocks are like those of products of bf16 (gemm_amx.cpp), whose tiles have as many bytes: 32 rows of A stay in the L1 cache,
// for as much of k as fits, while the panels of a group stream past, and sums over several pieces of k stay in the L2 cache. A
// finished tile is converted to y while the next one is multiplied.
#include "kernels/cpu/gemm/tiles_amx.h"
#include "kernels/cpu/int8/product.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {
namespace {

static_assert(kSumStride == kTilePair);

constexpr std::int64_t kTileBytes = 1024;  // 16 words of 16 columns

// The previous tile, whose first `done` rows are in y.
struct Finished {
  SumTile tile;
  std::int64_t done;
};

// Rows below `end`, in pairs, which the epilogue packs together.
void finish_rows(const Product& product, Finished& before, std::int64_t end) {
  end = min_of(end < kTilePair ? end / 2 * 2 : end, before.tile.rows);
  if (end <= before.done) return;
  SumTile part = before.tile;
  part.sums += before.done * kSumStride;
  part.row += before.done;
  part.rows = end - before.done;
  finish_tile(product, part);
  before.done = end;
}

// The sums of 32 rows and up to 32 columns over a piece of k.
struct Piece {
  const std::uint8_t* a;
  std::int64_t a_stride;
  const std::int8_t* b;
  std::int64_t steps, panel_steps;  // of the piece, and of a whole panel
  const std::int32_t* before;       // over the pieces before; null: none
  std::int32_t* sums;
};

template <int kVectors>
void sum_piece(const Product& product, const Piece& piece, Finished& before) {
  const TileStrides stride{piece.a_stride, kTileRows * piece.a_stride, 64, 64, kTileBytes, piece.panel_steps * kTileBytes};
  if (piece.before == nullptr) {
    zero_sums<kVectors>();
  } else {
    load_sums<kVectors>(piece.before);
  }
  multiply_and_finish<kVectors, 0, true>(reinterpret_cast<const char*>(piece.a), reinterpret_cast<const char*>(piece.b), stride,
                                         piece.steps, {}, [&](std::int64_t rows) { finish_rows(product, before, rows); });
  store_sums<kVectors>(piece.sums);
}

}  // namespace

// Every tile has the same registers, so they are configured once per thread.
MicrokernelScope::MicrokernelScope() {
  const TileConfig config = tile_config(kTilePair);
  EPOCHBENCH_TILE_CONFIG(&config);
}
MicrokernelScope::~MicrokernelScope() { EPOCHBENCH_TILE_RELEASE(); }

void multiply_block(const Product& product, const Block& block) {
  const std::int64_t panel_words = int8_words(product.shape);
  const Tiles pieces = pieces_of(product.shape);
  alignas(64) std::int32_t sums[2][kTileFloats];  // of the tile before, and of this one
  Finished before{};
  Piece piece{};
  piece.a_stride = block.a_stride;
  piece.panel_steps = panel_words / kTileDepth;
  for (std::int64_t row = block.rows.begin; row < block.rows.end; row += kTilePair) {
    for (std::int64_t i = 0; i < pieces.count; ++i) {
      const Range steps = pieces[i];
      piece.a = block.a + (row - block.rows.begin) * block.a_stride + steps.begin * kTileDepth * kWordDepth;
      piece.steps = steps.end - steps.begin;
      for (std::int64_t column = block.columns.begin; column < block.columns.end; column += kTilePair) {
        const std::int64_t columns = min_of(kTilePair, block.columns.end - column);
        std::int32_t* const kept = block.sums + (column - block.columns.begin) * kTilePair;
        const bool last = i + 1 == pieces.count;
        piece.b = product.weights + column * panel_words * kWordDepth + steps.begin * kTileBytes;
        piece.before = i > 0 ? kept : nullptr;
        piece.sums = last ? sums[before.tile.sums == sums[0]] : kept;
        (columns > kLanes ? &sum_piece<2> : &sum_piece<1>)(product, piece, before);
        if (last) before = {{piece.sums, row, min_of(kTilePair, block.rows.end - row), column, columns}, 0};
      }
    }
  }
  finish_rows(product, before, kTilePair);
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
