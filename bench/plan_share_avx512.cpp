#include "bench/plan_share.h"
#include "kernels/cpu/gemm/plan.h"

namespace epochbench::bench {

PlanShare avx512_share(const GemmShape& shape, int threads, bool large_l2) {
  using namespace cpu::EPOCHBENCH_ISA;
  const GemmPlan plan = make_gemm_plan(shape, threads, large_l2 ? kLargeL2 : kSmallL2);
  PlanShare share{plan.grid_m, plan.grid_n};
  for (int part = 0; part < plan.team; ++part) {
    const Range own = rows_of_part(plan, shape.m, part);
    std::int64_t columns = 0;
    for (std::int64_t n = 0; n < shape.n; n += plan.nc) {
      const Range block = columns_of_part(plan, {n, min_of(n + plan.nc, shape.n)}, part);
      columns += packed_columns(block.end - block.begin);
    }
    const auto rows = static_cast<double>(columns > 0 ? own.end - own.begin : 0), depth = static_cast<double>(shape.k);
    const double multiplied = rows * static_cast<double>(columns) * depth;
    double packed = plan.b_in_place ? 0 : static_cast<double>(columns) * depth / plan.grid_m;
    if (plan.pack_a) packed += rows * depth * static_cast<double>(plan.n_blocks);
    packed *= kPackingRows;
    if (multiplied + packed <= share.multiplied + share.packed) continue;
    share.multiplied = multiplied;
    share.packed = packed;
  }
  if (plan.grid_m > 1) share.barriers = plan.n_blocks * divide_up(plan.k_blocks, plan.k_blocks_per_stage);
  return share;
}

}  // namespace epochbench::bench
