// Code shared by convolutions on all instruction sets: 1x1 windows that are matrix products, and the pixels of an input
// gradient that meet the same taps.
#pragma once

#include "kernels/cpu/isa.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

std::size_t gemm_workspace_bytes(const GemmShape& shape, int threads);
std::size_t gemm_packed_bytes(const GemmShape& shape, int threads);
void pack_gemm(Real* packed, const Real* b, const GemmShape& shape, int threads);
void gemm(Real* c, const Real* a, const Real* b, const GemmShape& shape, const Epilogue<Real>& epilogue, void* workspace,
          int threads);

// A 1x1 convolution without stride and padding is a matrix product of all pixels.
static inline bool is_matrix_product(const Conv2dShape& s) {
  return s.kernel_height == 1 && s.kernel_width == 1 && s.stride == 1 && s.padding == 0;
}
static inline GemmShape forward_product(const Conv2dShape& s) {
  return {s.batch * s.height * s.width, s.out_channels, s.channels, false, true, s.packed_weight};
}
static inline GemmShape grad_input_product(const Conv2dShape& s) {
  return {s.batch * s.height * s.width, s.channels, s.out_channels, false, false};
}

// The pixels phase + stride * i of dx along one axis, i from 0 to pixels - 1: they meet the taps first_tap + stride * t, t from
// 0 to taps - 1, and the window over dy of pixel 0 begins at `first`.
struct Axis {
  std::int64_t pixels, first_tap, taps, first;
};
static inline Axis make_axis(std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                             std::int64_t phase) {
  Axis axis{};
  axis.pixels = phase < size ? (size - phase - 1) / stride + 1 : 0;
  axis.first_tap = (phase + padding) % stride;
  axis.taps = axis.first_tap < kernel ? (kernel - 1 - axis.first_tap) / stride + 1 : 0;
  axis.first = (phase + padding - axis.first_tap) / stride - (axis.taps - 1);
  return axis;
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
