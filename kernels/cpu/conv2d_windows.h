// The product of sliding windows with packed weights: what a convolution and the phases of its input gradient have in
// common. It knows neither padding rules nor which of the two it computes.
#pragma once

#include "kernels/cpu/conv2d_strip.h"
#include "kernels/shapes.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

struct WindowProduct {
  Windows windows;
  StripLayout layout;
  const float* weights;  // panels of out_channels, each kernel_height * kernel_width * channels deep
  float* y;              // element (image, row, column, out_channel) at the strides below
  std::int64_t out_channels, image_stride, row_stride, column_stride;
  Epilogue<float> epilogue;
};

StripLayout make_product_layout(const Windows& windows, int parts);
// The share of `part` out of `parts`. scratch [layout.floats].
void multiply_windows(const WindowProduct& product, float* scratch, int part, int parts);

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
