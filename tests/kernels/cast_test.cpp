// Element types of the reference: every 16-bit pattern, and rounding to nearest even between them. The devices' casts against
// the same by other arithmetic (tests/support/op_tensor.h).
#include <bit>
#include <limits>
#include <map>

#include "tests/support/op_test.h"

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

// Inputs of one pair of types, and what they are cast to.
struct Casts {
  std::vector<Tensor> x;
  std::vector<GuardedBuffer<float>> expected;
};

// Around every number of `to` and halfway to the next, and values of every magnitude; tensors of many lengths, including 0, and
// around a chunk of CUDA.
Casts casts_between(Element from, Element to) {
  const std::uint32_t half = to == Element::bf16 ? 0x8000 : 0x1000;
  GuardedBuffer<float> edges(4 * 65536);
  for (std::int64_t i = 0; i < 4 * 65536; ++i) {
    const float exact = test::from_bits(static_cast<std::uint16_t>(i / 4), to == Element::f16 ? to : Element::bf16);
    edges[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(exact) +
                                    (i % 4 == 0 ? 0 : half + static_cast<std::uint32_t>(i % 4) - 2));
  }
  Casts casts;
  casts.x.emplace_back(edges, from);
  for (std::int64_t n : {1, 0, 9, 15, 16, 17, 1000, 4099, 20011, 32768, 32781}) {
    GuardedBuffer<float> values = random_floats(n, 1 + casts.x.size());
    for (std::int64_t i = 0; i < n; ++i) values[i] = std::ldexp(values[i], static_cast<int>(i % 50) - 30);
    casts.x.emplace_back(values, from);
  }
  for (const Tensor& x : casts.x) {
    casts.expected.push_back(x.floats());
    for (float& value : casts.expected.back()) value = test::rounded(value, to);
  }
  return casts;
}

TEST(CastKernel, RoundsToNearestEvenBetweenAllTypes) {
  std::map<std::pair<Element, Element>, Casts> known;
  for_each_device([&](const OpDevice& k) {
    std::vector<Tensor> x, y;
    std::vector<const GuardedBuffer<float>*> expected;
    for (const auto& [from, to] : k.casts) {
      const auto [casts, is_new] = known.try_emplace({from, to});
      if (is_new) casts->second = casts_between(from, to);
      for (std::size_t i = 0; i < casts->second.x.size(); ++i) {
        x.push_back(casts->second.x[i]);
        y.emplace_back(x.back().size(), to);
        expected.push_back(&casts->second.expected[i]);
      }
    }
    k.cast(y, x);
    for (std::size_t t = 0; t < y.size(); ++t) {
      const GuardedBuffer<float> got = y[t].floats();
      for (std::int64_t i = 0; i < y[t].size(); ++i) {
        const float wanted = (*expected[t])[i];
        ASSERT_TRUE(std::isnan(wanted) ? std::isnan(got[i]) : got[i] == wanted && std::signbit(got[i]) == std::signbit(wanted))
            << x[t].floats()[i] << " became " << got[i];
      }
      EXPECT_TRUE(y[t].guards_intact());
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
