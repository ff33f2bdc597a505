// conv2d; work.h describes its lines. Three benchmarks: forward, grad_input and grad_weight.
#include "bench/kernel_bench.h"
#include "bench/work.h"

namespace epochbench::bench {
namespace {

void run_forward(benchmark::State& state, const Conv2dShape& s, const Options& options) {
  const cpu::Kernels<float>& kernels = *options.kernels;
  const auto [y_elements, x_elements, weight_elements] = elements_of(s);
  Floats y(y_elements), x(x_elements, 1), weight(weight_elements, 2);
  Floats workspace = Floats::workspace(kernels.conv2d_workspace_bytes(s, options.threads));
  time_beside_peak(state, options.threads, flops_of(s), 0,
                   [&] { kernels.conv2d(y.data(), x.data(), weight.data(), s, {}, workspace.data(), options.threads); });
}

void run_grad_input(benchmark::State& state, const Conv2dShape& s, const Options& options) {
  const cpu::Kernels<float>& kernels = *options.kernels;
  const auto [y_elements, x_elements, weight_elements] = elements_of(s);
  Floats dx(x_elements), dy(y_elements, 1), weight(weight_elements, 2);
  Floats workspace = Floats::workspace(kernels.conv2d_grad_input_workspace_bytes(s, options.threads));
  time_beside_peak(state, options.threads, flops_of(s), 0, [&] {
    kernels.conv2d_grad_input(dx.data(), dy.data(), weight.data(), s, workspace.data(), options.threads);
  });
}

void run_grad_weight(benchmark::State& state, const Conv2dShape& s, const Options& options) {
  const cpu::Kernels<float>& kernels = *options.kernels;
  const auto [y_elements, x_elements, weight_elements] = elements_of(s);
  Floats dweight(weight_elements), dy(y_elements, 1), x(x_elements, 2);
  Floats workspace = Floats::workspace(kernels.conv2d_grad_weight_workspace_bytes(s, options.threads));
  time_beside_peak(state, options.threads, flops_of(s), 0, [&] {
    kernels.conv2d_grad_weight(dweight.data(), dy.data(), x.data(), s, workspace.data(), options.threads);
  });
}

}  // namespace

bool register_conv2d(const Problem& problem, const Options& options) {
  if (problem.operation != "conv2d") return false;
  const Conv2dShape shape = conv2d_shape(problem);
  const auto add = [&](const char* direction, void (*run)(benchmark::State&, const Conv2dShape&, const Options&)) {
    benchmark::RegisterBenchmark(name_of(problem, options, direction).c_str(), [=](benchmark::State& state) {
      run(state, shape, options);
    })->UseManualTime();
  };
  add("forward", &run_forward);
  add("grad_input", &run_grad_input);
  add("grad_weight", &run_grad_weight);
  return true;
}

}  // namespace epochbench::bench
