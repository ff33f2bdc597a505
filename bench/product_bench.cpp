// gemm and conv2d; work.h describes their lines. A convolution has three benchmarks: forward, grad_input and grad_weight.
#include "bench/kernel_bench.h"
#include "bench/own_kernels.h"

namespace epochbench::bench {

bool register_products(const Problem& problem, const Options& options) {
  const std::vector<Work> works = works_of(problem);
  for (const Work& work : works)
    register_timed(work.name, options, [=](benchmark::State& state) {
      Operands<float> operands(work);
      Floats workspace = Floats::workspace(workspace_bytes(work, *options.kernels, options.threads));
      time_beside_peak(state, options.threads, work.flops, 0,
                       [&] { run_ours(work, operands, *options.kernels, workspace.data(), options.threads); });
    });
  return !works.empty();
}

}  // namespace epochbench::bench
