// Element types of the reference: every 16-bit pattern, and rounding to nearest even between them. The CPU's cast against it.
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/reference/kernels.h"
#include "tests/support/kernel_sweep.h"

namespace epochbench {
namespace {

struct Format {
  Element element;
  int mantissa_bits, smallest_exponent;  // of a normal number
  double largest;
};
constexpr Format kBf16{Element::bf16, 7, -126, 0x1.FEp127}, kF16{Element::f16, 10, -14, 65504};
void PrintTo(const Format& format, std::ostream* out) { *out << (format.element == Element::bf16 ? "bf16" : "f16"); }

class Cast : public testing::TestWithParam<Format> {
 protected:
  float widen(std::uint16_t pattern) const {
    float value;
    reference::cast(&value, &pattern, Element::f32, GetParam().element, 1);
    return value;
  }
  std::uint16_t narrow(float value) const {
    std::uint16_t pattern;
    reference::cast(&pattern, &value, GetParam().element, Element::f32, 1);
    return pattern;
  }
};
INSTANTIATE_TEST_SUITE_P(Formats, Cast, testing::Values(kBf16, kF16));

TEST_P(Cast, EveryPatternSurvivesARoundTripThroughFloat) {
  for (int i = 0; i < 65536; ++i) {
    const auto pattern = static_cast<std::uint16_t>(i);
    const float value = widen(pattern);
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(widen(narrow(value)))) << i;
    else
      EXPECT_EQ(narrow(value), pattern) << value;
  }
}

// By the definition of the formats, in independent arithmetic.
TEST_P(Cast, PatternsHaveTheValueThatTheFormatDefines) {
  const auto [element, mantissa_bits, smallest_exponent, largest] = GetParam();
  const int exponents = 1 << (15 - mantissa_bits), mantissas = 1 << mantissa_bits;
  for (int exponent = 0; exponent < exponents; ++exponent)
    for (int mantissa = 0; mantissa < mantissas; ++mantissa) {
      const double fraction = static_cast<double>(mantissa) / mantissas;
      double expected = exponent == 0 ? fraction * std::exp2(smallest_exponent)
                                      : (1 + fraction) * std::exp2(smallest_exponent + exponent - 1);
      if (exponent == exponents - 1) expected = mantissa == 0 ? INFINITY : NAN;
      const auto pattern = static_cast<std::uint16_t>(exponent << mantissa_bits | mantissa);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(widen(pattern))) << pattern;
        continue;
      }
      EXPECT_EQ(widen(pattern), expected) << pattern;
      EXPECT_EQ(widen(static_cast<std::uint16_t>(pattern | 0x8000)), -expected) << pattern;
    }
}

// Between any two neighbors: below, at and above the midpoint.
TEST_P(Cast, RoundsToNearestAndTiesToEven) {
  for (std::uint16_t low = 0; std::isfinite(widen(static_cast<std::uint16_t>(low + 1))); ++low) {
    const auto high = static_cast<std::uint16_t>(low + 1);
    const float middle = widen(low) / 2 + widen(high) / 2;  // exact: a float has bits to spare, even for subnormals
    ASSERT_EQ(static_cast<double>(middle) * 2, static_cast<double>(widen(low)) + widen(high));
    EXPECT_EQ(narrow(middle), low % 2 == 0 ? low : high) << middle;
    EXPECT_EQ(narrow(std::nextafter(middle, 0.0f)), low) << middle;
    EXPECT_EQ(narrow(std::nextafter(middle, INFINITY)), high) << middle;
    EXPECT_EQ(narrow(-middle), (low % 2 == 0 ? low : high) | 0x8000) << middle;
  }
}

TEST_P(Cast, OverflowsToInfinityFromTheMidpointOn) {
  const double step = std::exp2(std::floor(std::log2(GetParam().largest)) - GetParam().mantissa_bits);
  const auto middle = static_cast<float>(GetParam().largest + step / 2);
  EXPECT_EQ(widen(narrow(std::nextafter(middle, 0.0f))), GetParam().largest);
  EXPECT_EQ(widen(narrow(middle)), INFINITY);
  EXPECT_EQ(widen(narrow(-middle)), -INFINITY);
  EXPECT_EQ(widen(narrow(std::numeric_limits<float>::infinity())), INFINITY);
  EXPECT_TRUE(std::isnan(widen(narrow(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_TRUE(std::isnan(widen(narrow(std::bit_cast<float>(0x7f800001u)))));  // a NaN whose upper bits equal those of infinity
}

// Around every pattern and halfway to the next, and values of every magnitude; tensors of many lengths, including 0.
TEST(CpuCast, MatchesReference) {
  std::vector<test::GuardedBuffer<float>> inputs;
  test::GuardedBuffer<float> edges(4 * 65536);
  for (std::uint32_t i = 0; i < 4 * 65536; ++i) {
    constexpr std::uint32_t kLow[] = {0, 0x7fff, 0x8000, 0x8001};
    edges[i] = std::bit_cast<float>(i / 4 << 16 | kLow[i % 4]);
  }
  inputs.push_back(edges);
  for (std::int64_t n : {1, 0, 15, 16, 17, 1000, 20011}) inputs.push_back(test::random_floats(n, 1 + inputs.size(), -1e3, 1e3));
  test::for_each_kernels("", [&](const auto& kernels, int threads) {
    using Real = test::RealOf<decltype(kernels)>;
    std::vector<test::GuardedBuffer<Real>> outputs;
    std::vector<cpu::CastTensor<Real>> tensors;
    for (const test::GuardedBuffer<float>& x : inputs) {
      outputs.emplace_back(static_cast<std::int64_t>(x.size()));
      tensors.push_back({outputs.back().data(), x.data(), static_cast<std::int64_t>(x.size())});
    }
    kernels.cast(tensors.data(), static_cast<int>(tensors.size()), threads);
    for (std::size_t t = 0; t < inputs.size(); ++t) {
      const test::GuardedBuffer<float> got = test::floats(outputs[t]), expected = test::floats(test::reals<Real>(inputs[t]));
      for (std::int64_t i = 0; i < tensors[t].n; ++i) {
        if (std::isnan(expected[i]))
          ASSERT_TRUE(std::isnan(got[i])) << inputs[t][i];
        else
          ASSERT_EQ(got[i], expected[i]) << inputs[t][i];
      }
      EXPECT_TRUE(outputs[t].guards_intact());
    }
  });
}

float tf32(float value) {
  reference::round_to_tf32(&value, &value, 1);
  return value;
}

TEST(RoundToTf32, KeepsTenBitsOfMantissaAndTiesToEven) {
  EXPECT_EQ(tf32(1 + 0x1p-10f), 1 + 0x1p-10f);
  EXPECT_EQ(tf32(1 + 0x1p-11f), 1);
  EXPECT_EQ(tf32(1 + 0x3p-11f), 1 + 0x1p-9f);
  EXPECT_EQ(tf32(std::nextafter(1 + 0x1p-11f, 2.0f)), 1 + 0x1p-10f);
  EXPECT_EQ(tf32(-1.0f - 0x3p-11f), -1 - 0x1p-9f);
  EXPECT_EQ(tf32(0x1.FFFFFFp0f), 2);
  EXPECT_EQ(tf32(0), 0);
  EXPECT_EQ(tf32(INFINITY), INFINITY);
  EXPECT_TRUE(std::isnan(tf32(NAN)));
}

}  // namespace
}  // namespace epochbench
