// Rounds tiles of the weight gradient, restores the order of channels, and transposes swapped tiles.
#include "kernels/cpu/conv2d/weight_tiles_amx.h"

#include "kernels/cpu/conv2d/pixels_amx.h"
#include "kernels/cpu/gemm/transpose.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {
namespace {

// For each channel, its position among 32 interleaved ones.
struct alignas(64) Positions {
  std::uint16_t of[kTilePair];
};
constexpr Positions make_positions() {
  Positions positions{};
  for (std::int64_t p = 0; p < kTilePair; ++p) positions.of[interleaved_column(p)] = static_cast<std::uint16_t>(p);
  return positions;
}
constexpr Positions kPositions = make_positions();

void write_rows(Real* to, std::int64_t stride, const float* sums, std::int64_t rows, std::int64_t columns) {
  const __m512i positions = _mm512_load_si512(kPositions.of);
  const __mmask32 mask = 0xffffffffu >> (kTilePair - columns);
  for (std::int64_t row = 0; row < rows; ++row, sums += kTilePair, to += stride) {
    const __m512i rounded = (__m512i)_mm512_cvtne2ps_pbh(load(sums + kLanes), load(sums));
    _mm512_mask_storeu_epi16(to, mask, _mm512_permutexvar_epi16(positions, rounded));
  }
}

void write_columns(Real* to, std::int64_t stride, const float* sums, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t row = 0; row < rows; row += kLanes) {
    for (std::int64_t position = 0; position < kTilePair; position += kLanes) {
      WordVec square[kLanes];
      for (int i = 0; i < kLanes; ++i) square[i] = load(reinterpret_cast<const Word*>(sums + (row + i) * kTilePair + position));
      transpose<kLanes / 2>(square);
      for (int i = 0; i < kLanes; ++i) {
        const std::int64_t column = interleaved_column(position + i);
        if (column < columns) store_reals_partial(to + column * stride + row, (Vec)square[i], min_of(rows - row, kLanes));
      }
    }
  }
}

}  // namespace

void write_weights(const WeightTiles& tiles, const float* sums, std::int64_t rows, std::int64_t tap, std::int64_t columns) {
  const std::int64_t row = rows * kTilePair, column = columns * kTilePair;
  if (tiles.swapped) {
    write_columns(tiles.dweight + column * tiles.row + row, tiles.row, sums, min_of(tiles.row - row, kTilePair),
                  min_of(tiles.out_channels - column, kTilePair));
  } else {
    write_rows(tiles.dweight + row * tiles.row + tap * tiles.run + column, tiles.row, sums,
               min_of(tiles.out_channels - row, kTilePair), min_of(tiles.run - column, kTilePair));
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
