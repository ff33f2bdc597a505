// Rounds tiles of sums of the weight gradient and stores them in dweight. Only in builds with AMX tiles.
#pragma once

#include "kernels/cpu/gemm/tiles_amx.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

struct WeightTiles {
  Real* dweight;  // [out_channels, row]
  std::int64_t out_channels, row;
  std::int64_t run;  // columns of one tap
  bool swapped;      // rows of tiles are channels and columns are output channels; there is one tap
};

// sums [32, 32]: row panel `rows`, column panel `columns` of this tap, columns in the order of `interleaved_column`.
void write_weights(const WeightTiles& tiles, const float* sums, std::int64_t rows, std::int64_t tap, std::int64_t columns);

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
