#include "kernels/int8.h"

#include <cmath>

namespace epochbench {
namespace {

constexpr double kLargest = 127;

// The scale of a channel's `count` weights.
double weight_scale(const float* weight, std::int64_t count) {
  double largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {  // not std::fmax, which g++ 12 cannot compile for aarch64
    const double size = std::fabs(static_cast<double>(weight[i]));
    largest = size > largest ? size : largest;
  }
  return largest > 0 ? largest / kLargest : 1;
}

std::int8_t number_of(double weight, double scale) {
  const double number = std::rint(weight / scale);
  return static_cast<std::int8_t>(number > -kLargest ? (number < kLargest ? number : kLargest) : -kLargest);
}

}  // namespace

void pack_int8_weights(std::int8_t* weights, float* multiplier, float* offset, const float* weight, const float* x_range,
                       const Conv2dShape& shape, const Int8Affine& affine) {
  const ByteCode x = byte_code(x_range);
  const std::int64_t row = shape.kernel_width * shape.channels, count = shape.kernel_height * row;
  const std::int64_t row_words = int8_row_words(shape), panel_words = int8_words(shape);
  for (std::int64_t i = 0; i < int8_weight_bytes(shape); ++i) weights[i] = 0;
  for (std::int64_t channel = 0; channel < shape.out_channels; ++channel) {
    const float* const from = weight + channel * count;
    std::int8_t* const panel = weights + (channel / 16 * panel_words * 16 + channel % 16) * 4;
    const double scale = weight_scale(from, count);
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int8_t number = number_of(static_cast<double>(from[i]), scale);
      const std::int64_t word = i / row * row_words + i % row / 4;
      panel[word * 64 + i % row % 4] = number;
      sum += number;
    }
    const bool norm = affine.scale != nullptr;
    const double factor = norm ? static_cast<double>(affine.scale[channel]) /
                                     std::sqrt(static_cast<double>(affine.variance[channel]) + affine.epsilon)
                               : 1;
    const double product = static_cast<double>(x.scale) * scale * factor;
    const double bias = affine.bias != nullptr ? static_cast<double>(affine.bias[channel]) : 0;
    const double mean = norm ? static_cast<double>(affine.mean[channel]) : 0;
    const double shift = norm ? static_cast<double>(affine.shift[channel]) : 0;
    multiplier[channel] = static_cast<float>(product);
    offset[channel] = static_cast<float>((bias - mean) * factor + shift - product * x.zero * sum);
  }
}

}  // namespace epochbench
