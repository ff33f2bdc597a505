#include "tests/support/amx_int8_plan.h"

#include "kernels/cpu/int8/plan.h"

namespace epochbench::test {

AmxInt8Plan amx_int8_plan(const Conv2dShape& shape, int threads) {
  using namespace cpu::EPOCHBENCH_ISA;
  const Int8Plan plan = make_int8_plan(shape, threads);
  return {plan.grid_m,
          plan.grid_n,
          plan.in_place,
          plan.block_rows,
          plan.group_columns,
          plan.group_columns * int8_words(shape) * kWordDepth,
          pieces_of(shape)[0].end * kTilePair * kTileDepth * kWordDepth,
          plan.row_sums * 4};
}

}  // namespace epochbench::test
