#include "bench/work.h"

#include <stdexcept>

namespace epochbench::bench {

GemmShape gemm_shape(const Problem& problem) {
  expect_only(problem, {"m", "n", "k", "transpose_a", "transpose_b", "count"});
  return {size_of(problem, "m"), size_of(problem, "n"), size_of(problem, "k"), size_of(problem, "transpose_a", 0, 0) != 0,
          size_of(problem, "transpose_b", 0, 0) != 0};
}

Conv2dShape conv2d_shape(const Problem& problem) {
  expect_only(problem, {"n", "h", "w", "c", "k", "r", "s", "stride", "pad", "count"});
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

std::array<std::int64_t, 3> elements_of(const GemmShape& s) { return {s.m * s.n, s.m * s.k, s.k * s.n}; }

std::array<std::int64_t, 3> elements_of(const Conv2dShape& s) {
  return {s.batch * s.out_height * s.out_width * s.out_channels, s.batch * s.height * s.width * s.channels,
          s.out_channels * s.kernel_height * s.kernel_width * s.channels};
}

double flops_of(const GemmShape& s) {
  return 2 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
}

double flops_of(const Conv2dShape& s) {
  const auto [y, x, weight] = elements_of(s);
  return 2 * static_cast<double>(y) * static_cast<double>(weight / s.out_channels);
}

std::vector<Work> works_of(const Problem& problem) {
  Work work;
  work.name = problem.text;
  if (problem.operation == "gemm") {
    work.gemm = gemm_shape(problem);
    work.count = size_of(problem, "count", 1, 1);
    work.elements = elements_of(*work.gemm);
    work.flops = flops_of(*work.gemm);
    return {work};
  }
  if (problem.operation != "conv2d") return {};
  work.conv2d = conv2d_shape(problem);
  work.count = size_of(problem, "count", 1, 1);
  work.elements = elements_of(work.conv2d);
  work.flops = flops_of(work.conv2d);
  std::vector<Work> passes(3, work);
  passes[0].name += " forward";
  passes[1].name += " grad_input";
  passes[2].name += " grad_weight";
  for (std::size_t i = 0; i < 3; ++i) {
    passes[i].pass = static_cast<Pass>(i);
    passes[i].result = i;
  }
  return passes;
}

}  // namespace epochbench::bench
