#include "tests/support/avx512_plan.h"

#include "kernels/cpu/gemm/plan.h"

namespace epochbench::test {

Avx512Plan avx512_plan(const GemmShape& shape, int threads, std::int64_t l1_bytes, std::int64_t l1_ways,
                       std::int64_t l2_bytes) {
  using namespace cpu::EPOCHBENCH_ISA;
  const GemmPlan plan = make_gemm_plan(shape, threads, blocking_of({l1_bytes, l1_ways, l2_bytes}));
  return {plan.k_blocks, plan.kc, plan.n_blocks, plan.nc, plan.k_blocks_per_stage, plan.mc, plan.pack_a, plan.b_in_place};
}

}  // namespace epochbench::test
