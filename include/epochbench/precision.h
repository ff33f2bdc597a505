// Numeric formats of training and inference.
#pragma once

#include <cstdint>

namespace epochbench {

// fp32: strict. tf32: float tensors; products round their operands to 10 bits of mantissa. bf16, fp16: 16-bit
// activations and copies of the weights, float accumulation, float master weights, statistics, losses and optimizer state;
// fp16 with dynamic loss scaling. int8, forward only: products with weights multiply bytes and sum in int32 (kernels/int8.h);
// the rest is float.
enum class Precision : std::uint8_t { fp32, tf32, bf16, fp16, int8 };
// Those for training.
inline constexpr Precision kPrecisions[] = {Precision::fp32, Precision::tf32, Precision::bf16, Precision::fp16};

constexpr const char* name(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return "fp32";
    case Precision::tf32:
      return "tf32";
    case Precision::bf16:
      return "bf16";
    case Precision::fp16:
      return "fp16";
    case Precision::int8:
      return "int8";
  }
  return "";
}

// Whether activations and weights have 16 bits; tf32 only rounds the operands of products.
constexpr bool has_16_bits(Precision precision) { return precision == Precision::bf16 || precision == Precision::fp16; }

}  // namespace epochbench
