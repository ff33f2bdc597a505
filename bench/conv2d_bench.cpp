// conv2d n= h= w= c= k= r= s= [stride=1] [pad=0]: n images of h x w with c channels, k filters of r x s; three benchmarks,
// forward, grad_input and grad_weight. FLOPs are those of the definition, taps that fall on padding included.
#include <stdexcept>

#include "bench/kernel_bench.h"

namespace epochbench::bench {
namespace {

Conv2dShape shape_of(const Problem& problem) {
  expect_only(problem, {"n", "h", "w", "c", "k", "r", "s", "stride", "pad"});
  Conv2dShape shape;
  shape.batch = size_of(problem, "n");
  shape.height = size_of(problem, "h");
  shape.width = size_of(problem, "w");
  shape.channels = size_of(problem, "c");
  shape.out_channels = size_of(problem, "k");
  shape.kernel_height = size_of(problem, "r");
  shape.kernel_width = size_of(problem, "s");
  shape.stride = size_of(problem, "stride", 1, 1);
  shape.padding = size_of(problem, "pad", 0, 0);
  if (shape.height + 2 * shape.padding < shape.kernel_height || shape.width + 2 * shape.padding < shape.kernel_width)
    throw std::runtime_error(problem.where + ": the kernel is larger than the padded image");
  shape.out_height = (shape.height + 2 * shape.padding - shape.kernel_height) / shape.stride + 1;
  shape.out_width = (shape.width + 2 * shape.padding - shape.kernel_width) / shape.stride + 1;
  return shape;
}

std::int64_t input_elements(const Conv2dShape& s) { return s.batch * s.height * s.width * s.channels; }
std::int64_t weight_elements(const Conv2dShape& s) { return s.out_channels * s.kernel_height * s.kernel_width * s.channels; }
std::int64_t output_elements(const Conv2dShape& s) { return s.batch * s.out_height * s.out_width * s.out_channels; }

double flops_of(const Conv2dShape& s) {
  return 2 * static_cast<double>(output_elements(s)) * static_cast<double>(weight_elements(s) / s.out_channels);
}

void run_forward(benchmark::State& state, const Conv2dShape& s, const Options& options) {
  const cpu::Kernels<float>& kernels = *options.kernels;
  Floats y(output_elements(s)), x(input_elements(s), 1), weight(weight_elements(s), 2);
  Floats workspace = Floats::workspace(kernels.conv2d_workspace_bytes(s, options.threads));
  time_in_turns(state, options.threads, flops_of(s), 0,
                [&] { kernels.conv2d(y.data(), x.data(), weight.data(), s, {}, workspace.data(), options.threads); });
}

void run_grad_input(benchmark::State& state, const Conv2dShape& s, const Options& options) {
  const cpu::Kernels<float>& kernels = *options.kernels;
  Floats dx(input_elements(s)), dy(output_elements(s), 1), weight(weight_elements(s), 2);
  Floats workspace = Floats::workspace(kernels.conv2d_grad_input_workspace_bytes(s, options.threads));
  time_in_turns(state, options.threads, flops_of(s), 0,
                [&] { kernels.conv2d_grad_input(dx.data(), dy.data(), weight.data(), s, workspace.data(), options.threads); });
}

void run_grad_weight(benchmark::State& state, const Conv2dShape& s, const Options& options) {
  const cpu::Kernels<float>& kernels = *options.kernels;
  Floats dweight(weight_elements(s)), dy(output_elements(s), 1), x(input_elements(s), 2);
  Floats workspace = Floats::workspace(kernels.conv2d_grad_weight_workspace_bytes(s, options.threads));
  time_in_turns(state, options.threads, flops_of(s), 0,
                [&] { kernels.conv2d_grad_weight(dweight.data(), dy.data(), x.data(), s, workspace.data(), options.threads); });
}

}  // namespace

bool register_conv2d(const Problem& problem, const Options& options) {
  if (problem.operation != "conv2d") return false;
  const Conv2dShape shape = shape_of(problem);
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
