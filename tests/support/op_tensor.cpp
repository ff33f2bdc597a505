#include "tests/support/op_tensor.h"

#include <cmath>
#include <vector>

namespace epochbench::test {

namespace {

// Rounds to a binary format with the given bits of mantissa and exponent, returned without the sign. Computes in double, which
// holds every float and every product here exactly.
std::uint32_t round_magnitude(double value, int mantissa_bits, int exponent_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const std::uint32_t infinity = ((1u << exponent_bits) - 1) << mantissa_bits;
  if (std::isnan(value)) return infinity | 1u << (mantissa_bits - 1);
  if (std::isinf(value)) return infinity;
  if (value == 0) return 0;
  const int exponent = std::max(std::ilogb(value), 1 - bias);  // subnormals share the smallest
  // In units of the last place; nearbyint rounds to even. A carry into the exponent is what addition does.
  const auto units = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(value, mantissa_bits - exponent)));
  const std::uint32_t bits = units + (static_cast<std::uint32_t>(exponent + bias - 1) << mantissa_bits);
  return std::min(bits, infinity);
}

double magnitude_of(std::uint32_t bits, int mantissa_bits, int exponent_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(bits >> mantissa_bits);
  const std::uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
  if (exponent == (1 << exponent_bits) - 1) return mantissa == 0 ? INFINITY : NAN;
  if (exponent == 0) return std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return std::ldexp(mantissa | 1u << mantissa_bits, exponent - bias - mantissa_bits);
}

int mantissa_bits(Element element) { return element == Element::bf16 ? 7 : 10; }
int exponent_bits(Element element) { return element == Element::bf16 ? 8 : 5; }

// The numbers of a 16-bit format, by their bits.
std::vector<float> numbers_of(Element element) {
  std::vector<float> numbers(0x10000);
  for (std::uint32_t bits = 0; bits < 0x8000; ++bits) {
    numbers[bits] = static_cast<float>(magnitude_of(bits, mantissa_bits(element), exponent_bits(element)));
    numbers[bits + 0x8000] = -numbers[bits];
  }
  return numbers;
}

}  // namespace

std::uint16_t to_bits(float value, Element element) {
  const std::uint32_t magnitude = round_magnitude(std::fabs(value), mantissa_bits(element), exponent_bits(element));
  return static_cast<std::uint16_t>(magnitude | (std::signbit(value) ? 0x8000u : 0));
}

float from_bits(std::uint16_t bits, Element element) {
  static const std::vector<float> of_bf16 = numbers_of(Element::bf16), of_f16 = numbers_of(Element::f16);
  return (element == Element::bf16 ? of_bf16 : of_f16)[bits];
}

void Tensor::write(std::span<const float> values) {
  ASSERT_EQ(static_cast<std::int64_t>(values.size()), n_);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (element_ == Element::f32) {
      std::memcpy(bytes_.data() + i * 4, &values[i], 4);
    } else {
      const std::uint16_t bits = to_bits(values[i], element_);
      std::memcpy(bytes_.data() + i * 2, &bits, 2);
    }
  }
}

GuardedBuffer<float> Tensor::floats() const {
  GuardedBuffer<float> values(n_);
  for (std::int64_t i = 0; i < n_; ++i) {
    if (element_ == Element::f32) {
      std::memcpy(&values[i], bytes_.data() + i * 4, 4);
    } else {
      std::uint16_t bits = 0;
      std::memcpy(&bits, bytes_.data() + i * 2, 2);
      values[i] = from_bits(bits, element_);
    }
  }
  return values;
}

}  // namespace epochbench::test
