#include "bench/plan_share.h"
#include "kernels/cpu/gemm/plan_amx.h"

namespace epochbench::bench {

PlanShare amx_share(const GemmShape& shape, int threads) {
  using namespace cpu::EPOCHBENCH_ISA;
  const GemmPlan plan = make_gemm_plan(shape, threads);
  PlanShare share{plan.grid_m, plan.grid_n};
  constexpr double kMultiplyAdds = kTilePair * kStepReals / kCyclesPerStep;  // per cycle
  const auto steps = static_cast<double>(steps_of(shape.k));
  const std::int64_t row_blocks = divide_up(shape.m, plan.row_block);
  // The whole team packs a block of rows.
  const double of_packed_a =
      plan.pack_a ? static_cast<double>(divide_up(shape.m, kTilePair)) * kTilePair * kCyclesPerLine / plan.team : 0;
  for (int part = 0; part < plan.team; ++part) {
    const Range columns = columns_of_part(plan, shape.n, part);
    std::int64_t tiles = 0, blocks = 0;
    for (std::int64_t row = 0; row < shape.m; row += plan.row_block) {
      const Range own = rows_of_part(plan, min_of(plan.row_block, shape.m - row), part);
      tiles += divide_up(own.end - own.begin, kTilePair);
      blocks += own.end > own.begin ? 1 : 0;
    }
    const std::int64_t panels = divide_up(columns.end - columns.begin, kTilePair);
    const double multiplied = kCyclesPerStep * static_cast<double>(tiles * panels);
    // B once per block of rows, and A once per block of columns.
    const auto copied = static_cast<double>(blocks * panels + tiles * divide_up(panels, plan.panels));
    const double packed = kCyclesPerLine * kTilePair * copied + of_packed_a;
    if (multiplied + packed <= (share.multiplied + share.packed) / (kMultiplyAdds * steps)) continue;
    share.multiplied = multiplied * kMultiplyAdds * steps;
    share.packed = packed * kMultiplyAdds * steps;
  }
  if (plan.pack_a) share.barriers = 2 * row_blocks;
  return share;
}

}  // namespace epochbench::bench
