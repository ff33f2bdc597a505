#include "tests/support/avx512_plan.h"

#include "kernels/cpu/gemm/plan.h"

namespace epochbench::test {

Avx512Plan avx512_plan(const GemmShape& shape, int threads, std::int64_t l1_bytes, std::int64_t l1_ways,
                       std::int64_t l2_bytes) {
  using namespace cpu::EPOCHBENCH_ISA;
  const GemmPlan plan = make_gemm_plan(shape, threads, blocking_of({l1_bytes, l1_ways, l2_bytes}, kLanes));
  return {plan.k_blocks, plan.kc, plan.n_blocks, plan.nc, plan.k_blocks_per_stage, plan.mc, plan.pack_a, plan.b_in_place};
}

CacheSizes described_caches(const std::vector<CacheRegisters>& registers) {
  const auto caches = cpu::EPOCHBENCH_ISA::described_caches([&](unsigned index) {
    const CacheRegisters r = index < registers.size() ? registers[index] : CacheRegisters{};
    return cpu::EPOCHBENCH_ISA::CacheRegisters{r.eax, r.ebx, r.ecx};
  });
  return {caches.l1_bytes, caches.l1_ways, caches.l2_bytes};
}

}  // namespace epochbench::test
