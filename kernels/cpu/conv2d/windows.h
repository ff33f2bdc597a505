// The product of sliding windows and packed weights, shared by convolution and the phases of its input gradient. It depends
// neither on padding rules nor on which of the two it computes.
#pragma once

#include "kernels/cpu/conv2d/strip.h"
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

// packed: whether the weights of a kernel row are contiguous, without padding; see StripOf::packed_reals.
StripLayout make_product_layout(const Windows& windows, bool packed, int parts);
// The number of words that one product sums over: those of all runs.
std::int64_t product_depth(const Windows& windows, const StripLayout& layout);
// Scratch of one part in bytes, a multiple of 64: the strip, and float sums if Real is too narrow for the partial sums of
// several passes.
std::int64_t product_scratch_bytes(const Windows& windows, const StripLayout& layout);
// Computes the part-th of `parts` shares. With Epilogue::moments, the rows of windows adjoin in y.
void multiply_windows(const WindowProduct& product, void* scratch, int part, int parts);

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
