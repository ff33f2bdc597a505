// Convolution of 3x3 windows with stride 1 and padding 1, and its input gradient, with fewer multiplications: F(4x4, 3x3) of
// Winograd's minimal filtering (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2016). Only for floats:
// the transforms need more digits than Bf16 has.
#pragma once

#include "kernels/cpu/isa.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

enum class WinogradOf : std::uint8_t { forward, grad_input };

// Whether Winograd computes a convolution that permits it: depends only on the shape and is the same for both directions.
bool conv2d_is_winograd(const Conv2dShape& shape);
#if !EPOCHBENCH_BF16
std::size_t winograd_packed_bytes(const Conv2dShape& shape, int threads);
void pack_winograd(float* packed, const float* weight, const Conv2dShape& shape, int threads);  // for WinogradOf::forward
std::size_t winograd_workspace_bytes(const Conv2dShape& shape, WinogradOf of, int threads);
// forward: y and x as in conv2d. grad_input: dx in place of y, dy in place of x.
void winograd(float* y, const float* x, const float* weight, const Conv2dShape& shape, WinogradOf of,
              const Epilogue<float>& epilogue, void* workspace, int threads);
#endif

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
