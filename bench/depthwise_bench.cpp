// depthwise n= h= w= c= r= s= [stride=1] [pad=0]: a convolution of every channel by itself, as of conv2d otherwise. Three
// benchmarks, whose bytes count every operand once.
#include "bench/kernel_bench.h"
#include "bench/work.h"

namespace epochbench::bench {
namespace {

Conv2dShape shape_of(Problem problem) {
  expect_only(problem, {"n", "h", "w", "c", "r", "s", "stride", "pad"});
  problem.sizes["k"] = size_of(problem, "c");
  return conv2d_shape(problem);
}

template <typename Real>
struct Operands {
  Operands(const Conv2dShape& shape, const Options<Real>& options)
      : s(shape),
        workspace(Floats::workspace(options.kernels->depthwise_conv2d_grad_weight_workspace_bytes(shape, options.threads))) {}
  void forward(const cpu::Kernels<Real>& k, int threads) { k.depthwise_conv2d(y, x, weight, s, threads); }
  void grad_input(const cpu::Kernels<Real>& k, int threads) { k.depthwise_conv2d_grad_input(x, y, weight, s, threads); }
  void grad_weight(const cpu::Kernels<Real>& k, int threads) {
    k.depthwise_conv2d_grad_weight(weight, y, x, s, workspace, threads);
  }

  Conv2dShape s;
  Buffer<Real> x{s.batch * s.height * s.width * s.channels, 1}, y{s.batch * s.out_height * s.out_width * s.channels, 2};
  Buffer<Real> weight{s.kernel_height * s.kernel_width * s.channels, 3};
  Floats workspace;
};

}  // namespace

template <typename Real>
bool register_depthwise(const Problem& problem, const Options<Real>& options) {
  if (problem.operation != "depthwise") return false;
  const Conv2dShape s = shape_of(problem);
  const double elements =
      static_cast<double>(s.batch * s.channels) * static_cast<double>(s.height * s.width + s.out_height * s.out_width);
  const auto add = [&](const char* pass, void (Operands<Real>::*call)(const cpu::Kernels<Real>&, int)) {
    register_timed(problem.text + pass, options.kernels->isa, options.threads, [=](benchmark::State& state) {
      Operands<Real> operands(s, options);
      time_beside_peak(state, kPrecision<Real>, options.threads, 0, elements * sizeof(Real),
                       [&] { (operands.*call)(*options.kernels, options.threads); });
    });
  };
  add(" forward", &Operands<Real>::forward);
  add(" grad_input", &Operands<Real>::grad_input);
  add(" grad_weight", &Operands<Real>::grad_weight);
  return true;
}

template bool register_depthwise(const Problem& problem, const Options<float>& options);
template bool register_depthwise(const Problem& problem, const Options<Bf16>& options);

}  // namespace epochbench::bench
