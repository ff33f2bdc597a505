// The product of sliding windows with packed weights: what a convolution and the phases of its input gradient have in
// common. It knows neither padding rules nor which of the two it computes.
#pragma once

#include "kernels/cpu/conv2d_strip.h"
#include "kernels/shapes.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

struct WindowProduct {
  Windows windows;
  StripLayout layout;
  const Word* weights;  // panels of out_channels, each product_depth deep
  Real* y;              // element (image, row, column, out_channel) at the strides below
  std::int64_t out_channels, image_stride, row_stride, column_stride;
  Epilogue<Real> epilogue;
};

// packed: whether the weights of a row of the kernel follow each other without padding, see StripOf::packed_reals.
StripLayout make_product_layout(const Windows& windows, bool packed, int parts);
// The words along which windows are multiplied: of every run in turn.
std::int64_t product_depth(const Windows& windows, const StripLayout& layout);
// Scratch of one part: the strip, and sums of float where Reals are too narrow for those of a part of the depth. In bytes, a
// multiple of 64.
std::int64_t product_scratch_bytes(const Windows& windows, const StripLayout& layout);
// The share of `part` out of `parts`.
void multiply_windows(const WindowProduct& product, void* scratch, int part, int parts);

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
