// Convolution and its input gradient on AMX tiles: outputs are sums over taps of pixels times weights. Only in builds with AMX
// tiles.
//
// Pixels are copied into strips, in which the rows of an image have as many pixels as outputs and taps need, with zeros outside
// the image. So the pixels of one tap are a matrix with one stride, which continues past the end of a row of outputs: tiles of
// 32 outputs span rows, and the few nonexistent outputs between two rows are not stored. With a stride, pixels are split into
// planes whose pixels have the same remainders of row and column.
#pragma once

#include "kernels/cpu/gemm/tiles_amx.h"
#include "kernels/shapes.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

enum class TapsOf : std::uint8_t { forward, grad_input };

// Outputs that meet the same taps: all of a convolution, or the pixels of dx whose row and column have the same remainders when
// divided by the stride.
struct Phase {
  std::int64_t rows, columns;                // of outputs in an image
  std::int64_t kernel_height, kernel_width;  // taps; 0: the outputs are zero
  std::int64_t first_row, first_column;      // pixel under the first tap of the first output
  // Tap (r, s) has the weights of kernel position (weight_row + r * weight_step, weight_column + s * weight_step).
  std::int64_t weight_row, weight_column, weight_step;
  std::int64_t y_offset;                         // of the first output, in Reals
  std::int64_t weight_words, first_word, depth;  // of packed weights, where they begin, and words per column
};

struct TapPlan {
  Conv2dShape shape;
  TapsOf of;
  int team;
  std::int64_t phases, weight_words;
  std::int64_t height, width, channels, run;  // of pixels; a run is a pixel, or a row of a window if there are few channels
  std::int64_t step;                          // pixels from one output to the next
  std::int64_t out_channels, image_stride, row_stride, column_stride;  // of outputs, in Reals
  std::int64_t first_row, first_column;                                // of all phases
  std::int64_t rows, block_rows, blocks, images_at_once;  // rows of outputs; per strip; strips per image; images per strip
  std::int64_t strip_width, plane_rows, plane_pixels, planes_high, planes_wide;
  std::int64_t pixel_stride, strip_reals;  // in Reals; of one image
  bool far_weights;                        // too large for the L2 cache
  std::int64_t tap_steps;                  // steps of 16 words that a tap takes
};

TapPlan make_tap_plan(const Conv2dShape& shape, TapsOf of, int threads);
Phase make_phase(const TapPlan& plan, std::int64_t index);

// Packs the part-th share of the weights of a phase: packed [weight_words], panels of 32 outputs.
void pack_taps(const TapPlan& plan, const Phase& phase, const Real* weight, Word* packed, int part);
// Computes the part-th share of y from `images` and the packed weights of all phases. strip [images_at_once * strip_reals].
void multiply_taps(const TapPlan& plan, Real* y, const Real* images, const Word* packed, const Epilogue<Real>& epilogue,
                   Real* strip, int part);

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
