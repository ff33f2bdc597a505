// Conversions to the bit patterns of bf16, fp16 and tf32 by definition, rounded to nearest even.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/reference/kernels.h"

namespace epochbench::reference {
namespace {

std::uint32_t bits_of(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
float float_from_bits(std::uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// Rounds a finite number's bits to a multiple of 2^dropped; a carry correctly moves into the exponent, up to infinity.
std::uint32_t round_bits(std::uint32_t bits, int dropped) {
  const std::uint32_t half = 1u << (dropped - 1), odd = (bits >> dropped) & 1;
  return (bits + half - 1 + odd) >> dropped << dropped;
}

// 8 bits of exponent, 7 of mantissa: the upper half of a float.
std::uint16_t to_bf16(float x) {
  if (std::isnan(x)) return static_cast<std::uint16_t>(bits_of(x) >> 16 | 0x40);  // stays a NaN
  return static_cast<std::uint16_t>(round_bits(bits_of(x), 16) >> 16);
}
float from_bf16(std::uint16_t y) { return float_from_bits(static_cast<std::uint32_t>(y) << 16); }

// 5 bits of exponent with bias 15, 10 of mantissa; below 2^-14 multiples of 2^-24; above 65504 infinity.
std::uint16_t to_f16(float x) {
  const auto sign = static_cast<std::uint16_t>(bits_of(x) >> 16 & 0x8000);
  const double magnitude = std::fabs(static_cast<double>(x));
  std::uint32_t y = 0;
  if (std::isnan(x)) {
    y = 0x7e00;
  } else if (magnitude >= 65520) {  // halfway between 65504 and 65536, which would be even
    y = 0x7c00;
  } else if (magnitude < 0x1p-14) {
    y = static_cast<std::uint32_t>(std::nearbyint(magnitude * 0x1p24));
  } else {
    const std::uint32_t rounded = round_bits(bits_of(x) & 0x7fffffff, 13);
    y = (rounded >> 13) - (std::uint32_t{127 - 15} << 10);
  }
  return static_cast<std::uint16_t>(sign | y);
}
float from_f16(std::uint16_t y) {
  const int exponent = y >> 10 & 31, mantissa = y & 1023;
  float magnitude = std::ldexp(static_cast<float>(exponent == 0 ? mantissa : mantissa + 1024), std::max(exponent, 1) - 25);
  if (exponent == 31) magnitude = mantissa == 0 ? INFINITY : NAN;
  return y & 0x8000 ? -magnitude : magnitude;
}

float load(const void* x, Element element, std::int64_t i) {
  switch (element) {
    case Element::f32:
      return static_cast<const float*>(x)[i];
    case Element::bf16:
      return from_bf16(static_cast<const std::uint16_t*>(x)[i]);
    case Element::f16:
      return from_f16(static_cast<const std::uint16_t*>(x)[i]);
  }
  return NAN;
}

}  // namespace

void cast(void* y, const void* x, Element to, Element from, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float value = load(x, from, i);
    switch (to) {
      case Element::f32:
        static_cast<float*>(y)[i] = value;
        break;
      case Element::bf16:
        static_cast<std::uint16_t*>(y)[i] = to_bf16(value);
        break;
      case Element::f16:
        static_cast<std::uint16_t*>(y)[i] = to_f16(value);
        break;
    }
  }
}

void round_to_tf32(float* y, const float* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = std::isfinite(x[i]) ? float_from_bits(round_bits(bits_of(x[i]), 13)) : x[i];
}

}  // namespace epochbench::reference
