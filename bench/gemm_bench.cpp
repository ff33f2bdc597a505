// gemm m= n= k= [transpose_a=1] [transpose_b=1]
#include "bench/kernel_bench.h"

namespace epochbench::bench {

bool register_gemm(const Problem& problem, const Options& options) {
  if (problem.operation != "gemm") return false;
  expect_only(problem, {"m", "n", "k", "transpose_a", "transpose_b"});
  const GemmShape shape{size_of(problem, "m"), size_of(problem, "n"), size_of(problem, "k"),
                        size_of(problem, "transpose_a", 0, 0) != 0, size_of(problem, "transpose_b", 0, 0) != 0};
  const auto run = [shape, options](benchmark::State& state) {
    const cpu::Kernels<float>& kernels = *options.kernels;
    Floats a(shape.m * shape.k, 1), b(shape.k * shape.n, 2), c(shape.m * shape.n);
    Floats workspace = Floats::workspace(kernels.gemm_workspace_bytes(shape, options.threads));
    const double flops = 2 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
    time_in_turns(state, options.threads, flops, 0,
                  [&] { kernels.gemm(c.data(), a.data(), b.data(), shape, {}, workspace.data(), options.threads); });
  };
  benchmark::RegisterBenchmark(name_of(problem, options).c_str(), run)->UseManualTime();
  return true;
}

}  // namespace epochbench::bench
