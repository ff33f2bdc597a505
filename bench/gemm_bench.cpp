// gemm; work.h describes its lines.
#include "bench/kernel_bench.h"
#include "bench/work.h"

namespace epochbench::bench {

bool register_gemm(const Problem& problem, const Options& options) {
  if (problem.operation != "gemm") return false;
  const GemmShape shape = gemm_shape(problem);
  const auto run = [shape, options](benchmark::State& state) {
    const cpu::Kernels<float>& kernels = *options.kernels;
    const auto [c_elements, a_elements, b_elements] = elements_of(shape);
    Floats a(a_elements, 1), b(b_elements, 2), c(c_elements);
    Floats workspace = Floats::workspace(kernels.gemm_workspace_bytes(shape, options.threads));
    time_beside_peak(state, options.threads, flops_of(shape), 0,
                     [&] { kernels.gemm(c.data(), a.data(), b.data(), shape, {}, workspace.data(), options.threads); });
  };
  benchmark::RegisterBenchmark(name_of(problem, options).c_str(), run)->UseManualTime();
  return true;
}

}  // namespace epochbench::bench
