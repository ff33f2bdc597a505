// The plans that the kernels for AMX-INT8 make for products of bytes. To be called on a CPU with AVX-512.
#pragma once

#include <cstdint>

#include "kernels/shapes.h"

namespace epochbench::test {

struct AmxInt8Plan {
  int grid_m, grid_n;
  bool in_place;
  std::int64_t block_rows, group_columns, group_bytes;  // bytes of a group's weights
  std::int64_t piece_bytes;                             // of 32 rows of the deepest piece of k
  std::int64_t row_sums_bytes;
};
AmxInt8Plan amx_int8_plan(const Conv2dShape& shape, int threads);

}  // namespace epochbench::test
