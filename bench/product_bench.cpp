// gemm and conv2d; work.h describes their lines. A convolution has three benchmarks: forward, grad_input and grad_weight.
#include "bench/kernel_bench.h"
#include "bench/own_kernels.h"

namespace epochbench::bench {

template <typename Real>
bool register_products(const Problem& problem, const Options<Real>& options) {
  const std::vector<Work> works = works_of(problem);
  for (const Work& work : works)
    register_timed(work.name, options.kernels->isa, options.threads, [=](benchmark::State& state) {
      Operands<Real> operands(work);
      Floats workspace = Floats::workspace(workspace_bytes(work, *options.kernels, options.threads));
      time_beside_peak(state, product_precision(*options.kernels), options.threads, work.flops, 0,
                       [&] { run_ours(work, operands, *options.kernels, workspace.data(), options.threads); });
    });
  return !works.empty();
}

template bool register_products(const Problem& problem, const Options<float>& options);
template bool register_products(const Problem& problem, const Options<Bf16>& options);

}  // namespace epochbench::bench
