// Int8 products: activations are unsigned codes, weights are signed numbers, sums are int32 (Jacob et al., "Quantization and
// Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference", 2018). For inference only.
//
// Activations are affine, one range per tensor: x = scale * (code - zero). Weights are symmetric, one scale per output channel,
// and packed once. A multiplier and an offset per output channel convert a product's sum to float. They include both scales,
// the bias, and the batch norm with running statistics, if one follows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/shapes.h"

namespace epochbench {

// The encoding of a range [smallest, largest], widened to contain 0 so that 0 has an exact code.
struct ByteCode {
  float scale;
  std::int32_t zero;  // code of 0, 0 to 255
};
static inline ByteCode byte_code(const float* range) {
  const float smallest = range[0] < 0 ? range[0] : 0, largest = range[1] > 0 ? range[1] : 0;
  const float scale = largest > smallest ? (largest - smallest) / 255 : 1;
  return {scale, static_cast<std::int32_t>(__builtin_rintf(-smallest / scale))};
}
// Rounds to nearest even; values outside the range get the first or last code.
static inline std::uint8_t encode(float x, ByteCode code) {
  const float value = __builtin_rintf(x * (1 / code.scale)) + static_cast<float>(code.zero);
  return static_cast<std::uint8_t>(value > 0 ? (value < 255 ? value : 255) : 0);
}
static inline float decode(std::uint8_t x, ByteCode code) {
  return code.scale * static_cast<float>(static_cast<std::int32_t>(x) - code.zero);
}

// Packed weights, s8 [ceil(out_channels / 16), words, 16, 4]: a word holds four adjacent numbers of a kernel row, which has
// kernel_width * channels numbers. Each row begins with a new word; padding numbers and channels are zero. `words` is a
// multiple of 16, so that 16 words of 16 channels form a tile of 1 KiB, and a vector holds one word of each of 16 channels.
static constexpr std::int64_t int8_row_words(const Conv2dShape& s) { return (s.kernel_width * s.channels + 3) / 4; }
static constexpr std::int64_t int8_words(const Conv2dShape& s) { return (s.kernel_height * int8_row_words(s) + 15) / 16 * 16; }
static constexpr std::int64_t int8_weight_bytes(const Conv2dShape& s) {
  return (s.out_channels + 15) / 16 * int8_words(s) * 64;
}

// The affine step folded into multiplier and offset: (product + bias - mean) * scale / sqrt(variance + epsilon) + shift.
struct Int8Affine {
  const float* bias = nullptr;                                                           // [out_channels], or null: 0
  const float *scale = nullptr, *shift = nullptr, *mean = nullptr, *variance = nullptr;  // of a batch norm, or all null
  double epsilon = 0;
};
// weights [int8_weight_bytes]; multiplier, offset [out_channels]. weight [out_channels,kernel_height,kernel_width,channels].
// x_range: the range of the product's operand. Runs once, on one thread.
void pack_int8_weights(std::int8_t* weights, float* multiplier, float* offset, const float* weight, const float* x_range,
                       const Conv2dShape& shape, const Int8Affine& affine);

enum class Int8Activation : std::uint8_t { none, relu, gelu };

struct Int8Epilogue {                                    // y = activation(multiplier * sum + offset + shortcut)
  const float *multiplier = nullptr, *offset = nullptr;  // [out_channels]
  const void* shortcut = nullptr;                        // like y, or null; codes if shortcut_range is given, else floats
  const float* shortcut_range = nullptr;
  Int8Activation activation = Int8Activation::none;
  const float* y_range = nullptr;  // y holds codes of this range; null: floats
};

}  // namespace epochbench
