// The reference that every other kernel is tested against: naive loops, accumulation in double, one thread. Never timed.
//
// kernel_list.inc and int8_kernels.inc define arguments and meaning. A null output is not written.
#pragma once

#include <cstdint>

#include "kernels/int8.h"
#include "kernels/shapes.h"

namespace epochbench::reference {

using Real = float;
#define REFERENCE_KERNEL(name, arguments) void name arguments;
#include "kernels/kernel_list.inc"
#define REFERENCE_KERNEL(name, arguments) void name arguments;
#include "kernels/int8_kernels.inc"

// mean, inv_std [channels]: of this batch (biased variance). running_mean, running_variance: updated (unbiased variance).
// shortcut (or null) is added before the activation.
void batch_norm(float* y, float* mean, float* inv_std, float* running_mean, float* running_variance, const float* x,
                const float* scale, const float* bias, const float* shortcut, std::int64_t rows, std::int64_t channels,
                double epsilon, double momentum, Activation activation);
// y: the output of the fused relu, or null when there was none. dz (or null): dy where y > 0, the shortcut's gradient.
void batch_norm_grad(float* dx, float* dscale, float* dbias, float* dz, const float* dy, const float* y, const float* x,
                     const float* scale, const float* mean, const float* inv_std, std::int64_t rows, std::int64_t channels);

// Converts n elements from one type to another, rounding to nearest even; values too large for fp16 become infinite.
void cast(void* y, const void* x, Element to, Element from, std::int64_t n);
// y [pixels,channels] = table[channel][x]; table [channels,256].
void decode_pixels(float* y, const std::uint8_t* x, const float* table, std::int64_t pixels, std::int64_t channels);
void round_to_tf32(float* y, const float* x, std::int64_t n);  // to 10 bits of mantissa, to nearest even; y may be x

double sum_of_squares(const void* gradient, Element element, std::int64_t n);
bool all_finite(const void* gradient, Element element, std::int64_t n);
struct LossScaleNumbers {
  double growth, backoff;
  std::int64_t growth_interval;  // consecutive finite steps before the scale grows
  double smallest, largest;      // limits of the scale
};
// Called after a step; updates all except finite. finite_steps restarts when the scale changes.
void update_loss_scale(float* scale, std::int32_t* finite_steps, std::int32_t* skipped_steps, const std::int32_t* finite,
                       const LossScaleNumbers& numbers);

}  // namespace epochbench::reference
