// Our kernel for a product or one pass of a convolution, on its own operands.
#pragma once

#include <array>

#include "bench/buffer.h"
#include "bench/work.h"
#include "kernels/cpu/kernels.h"

namespace epochbench::bench {

template <typename Real>
struct Operands {  // c, a, b of a product, or y, x, weight of a convolution
  explicit Operands(const Work& work) : first(work.elements[0], 1), second(work.elements[1], 2), third(work.elements[2], 3) {
    result = std::array{&first, &second, &third}[work.result];
  }
  Buffer<Real> first, second, third;
  Buffer<Real>* result;
};

template <typename Real>
std::size_t workspace_bytes(const Work& work, const cpu::Kernels<Real>& kernels, int threads) {
  if (work.gemm) return kernels.gemm_workspace_bytes(*work.gemm, threads);
  switch (work.pass) {
    case Pass::forward:
      return kernels.conv2d_workspace_bytes(work.conv2d, threads);
    case Pass::grad_input:
      return kernels.conv2d_grad_input_workspace_bytes(work.conv2d, threads);
    case Pass::grad_weight:
      return kernels.conv2d_grad_weight_workspace_bytes(work.conv2d, threads);
  }
  return 0;
}

template <typename Real>
void run_ours(const Work& work, Operands<Real>& o, const cpu::Kernels<Real>& kernels, void* workspace, int threads) {
  Real *first = o.first.data(), *second = o.second.data(), *third = o.third.data();
  if (work.gemm) return kernels.gemm(first, second, third, *work.gemm, {}, workspace, threads);
  switch (work.pass) {
    case Pass::forward:
      return kernels.conv2d(first, second, third, work.conv2d, {}, workspace, threads);
    case Pass::grad_input:
      return kernels.conv2d_grad_input(second, first, third, work.conv2d, workspace, threads);
    case Pass::grad_weight:
      return kernels.conv2d_grad_weight(third, first, second, work.conv2d, workspace, threads);
  }
}

}  // namespace epochbench::bench
