// Codes of floats, their range, packed weights, and the maximum over windows of codes.
#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/int8_sweep.h"

namespace epochbench {
namespace {

using test::Codes;
using test::for_each_int8_isa;
using test::GuardedBuffer;
using test::random_codes;
using test::random_floats;

constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Int8Codes, ZeroHasACodeOfItsOwn) {
  for (const std::array<float, 2>& range :
       std::vector<std::array<float, 2>>{{-1, 1}, {0.3f, 4}, {-5, -1}, {0, 0}, {-1e-30f, 2e30f}, {-0.11f, 0.37f}}) {
    const ByteCode code = byte_code(range.data());
    EXPECT_GE(code.zero, 0);
    EXPECT_LE(code.zero, 255);
    EXPECT_EQ(encode(0, code), code.zero);
    EXPECT_EQ(decode(static_cast<std::uint8_t>(code.zero), code), 0);
    for (int x = 0; x < 256; ++x) EXPECT_EQ(encode(decode(static_cast<std::uint8_t>(x), code), code), x);
  }
}

TEST(Int8Codes, QuantizeMatchesReference) {
  for (const auto& range : {std::array<float, 2>{-0.8f, 0.9f}, std::array<float, 2>{0.2f, 0.5f}, std::array<float, 2>{-3, -2}})
    for (std::int64_t n : {0, 1, 2, 15, 16, 17, 33, 100, 20000, 70001}) {
      GuardedBuffer<float> x = random_floats(n, 1, -1.5, 1.5);
      if (n > 30) {
        x[3] = kNan;
        x[4] = kInfinity;
        x[5] = -kInfinity;
        x[6] = 1e30f;
        x[7] = -1e30f;
      }
      Codes expected(n);
      reference::quantize(expected.data(), x.data(), range.data(), n);
      for_each_int8_isa("quantize n=" + std::to_string(n), [&](const cpu::Int8Kernels& kernels) {
        for (int threads : {1, 2, 3}) {
          Codes y(n);
          kernels.quantize(y.data(), x.data(), range.data(), n, threads);
          EXPECT_TRUE(y.guards_intact());
          EXPECT_TRUE(std::equal(y.begin(), y.end(), expected.begin()));
        }
      });
    }
}

TEST(Int8Codes, ObservedRangeMatchesReference) {
  for (std::int64_t n : {0, 1, 15, 16, 63, 64, 65, 100, 20000, 70001})
    for (const auto& before :
         {std::array<float, 2>{0, 0}, std::array<float, 2>{kInfinity, -kInfinity}, std::array<float, 2>{-9, 9}})
      for (bool nan : {false, true}) {
        GuardedBuffer<float> x = random_floats(n, 2, 0.5, 8);
        for (std::int64_t i = 0; nan && i < n; i += 3) x[i] = kNan;
        if (n > 0 && !nan) x[n - 1] = -7;
        std::array<float, 2> expected = before;
        reference::observe_range(expected.data(), x.data(), n);
        for_each_int8_isa("observe_range n=" + std::to_string(n), [&](const cpu::Int8Kernels& kernels) {
          for (int threads : {1, 2, 3}) {
            std::array<float, 2> range = before;
            kernels.observe_range(range.data(), x.data(), n, threads);
            EXPECT_EQ(range, expected);
          }
        });
      }
}

TEST(Int8Codes, MaxPoolMatchesReference) {
  for (std::int64_t channels : {1, 3, 63, 64, 65, 130})
    for (const PoolShape& shape :
         {PoolShape{2, 9, 12, channels, 5, 6, 3, 2, 1}, PoolShape{1, 8, 6, channels, 4, 3, 2, 2, 0},
          PoolShape{3, 5, 5, channels, 5, 5, 5, 1, 2}, PoolShape{2, 40, 40, channels, 20, 20, 3, 2, 1}}) {
      const Codes x = random_codes(shape.batch * shape.height * shape.width * channels, 3);
      Codes expected(shape.batch * shape.out_height * shape.out_width * channels);
      reference::int8_max_pool(expected.data(), x.data(), shape);
      for_each_int8_isa("max pool c=" + std::to_string(channels), [&](const cpu::Int8Kernels& kernels) {
        for (int threads : {1, 3}) {
          Codes y(static_cast<std::int64_t>(expected.size()));
          kernels.int8_max_pool(y.data(), x.data(), shape, threads);
          EXPECT_TRUE(y.guards_intact());
          EXPECT_TRUE(std::equal(y.begin(), y.end(), expected.begin()));
        }
      });
    }
}

// Two channels of a 2 x 3 kernel over 3 channels, by hand: rows of 9 numbers are 3 words each.
TEST(Int8Codes, WeightsArePackedByRowsOfAKernel) {
  Conv2dShape s;
  s.channels = 3;
  s.out_channels = 18;
  s.kernel_height = 2;
  s.kernel_width = 3;
  ASSERT_EQ(int8_row_words(s), 3);
  ASSERT_EQ(int8_words(s), 16);
  ASSERT_EQ(int8_weight_bytes(s), 2 * 16 * 64);
  GuardedBuffer<float> weight(18 * 18);
  for (std::int64_t i = 0; i < 18 * 18; ++i) weight[i] = static_cast<float>(i % 18 + 1) * (i / 18 == 17 ? -0.5f : 2);
  for (std::int64_t i = 0; i < 18; ++i) weight[5 * 18 + i] = 0;
  const float range[] = {-1, 3};
  GuardedBuffer<std::int8_t> weights(int8_weight_bytes(s));
  GuardedBuffer<float> multiplier(18), offset(18);
  pack_int8_weights(weights.data(), multiplier.data(), offset.data(), weight.data(), range, s, {});
  EXPECT_TRUE(weights.guards_intact());
  std::int64_t sum = 0;
  for (std::int64_t word = 0; word < 16; ++word)
    for (std::int64_t channel = 0; channel < 32; ++channel)
      for (std::int64_t i = 0; i < 4; ++i) {
        const std::int64_t in_row = word % 3 * 4 + i, place = word / 3 * 9 + in_row;
        const bool exists = channel < 18 && channel != 5 && word < 6 && in_row < 9;
        const double sign = channel == 17 ? -1 : 1;
        const double number = exists ? sign * std::rint(static_cast<double>(place + 1) / 18 * 127) : 0;
        ASSERT_EQ(weights[((channel / 16 * 16 + word) * 16 + channel % 16) * 4 + i], number) << word << ", " << channel;
        if (channel == 0) sum += static_cast<std::int64_t>(number);
      }
  const float x_scale = byte_code(range).scale, zero = static_cast<float>(byte_code(range).zero);
  EXPECT_FLOAT_EQ(multiplier[0], x_scale * 36 / 127);
  EXPECT_FLOAT_EQ(multiplier[17], x_scale * 9 / 127);
  EXPECT_FLOAT_EQ(multiplier[5], x_scale);
  EXPECT_FLOAT_EQ(offset[0], -multiplier[0] * zero * static_cast<float>(sum));
  EXPECT_EQ(offset[5], 0);
}

TEST(Int8Codes, AffinePartsAreInMultiplierAndOffset) {
  Conv2dShape s;
  s.channels = 1;
  s.out_channels = 2;
  s.kernel_height = s.kernel_width = 1;
  const float weight[] = {0.5f, -2}, bias[] = {3, 4}, scale[] = {-1.5f, 2}, shift[] = {0.25f, 7}, mean[] = {1, -2},
              variance[] = {3.75f, 0.75f}, range[] = {0, 2.55f};
  std::vector<std::int8_t> weights(static_cast<std::size_t>(int8_weight_bytes(s)));
  float multiplier[2], offset[2];
  pack_int8_weights(weights.data(), multiplier, offset, weight, range, s, {bias, scale, shift, mean, variance, 0.25});
  const float factor[] = {-1.5f / 2, 2 / 1.0f};
  EXPECT_EQ(weights[0], 127);
  EXPECT_EQ(weights[4], -127);
  for (int c = 0; c < 2; ++c) {
    EXPECT_FLOAT_EQ(multiplier[c], 0.01f * std::fabs(weight[c]) / 127 * factor[c]);
    EXPECT_FLOAT_EQ(offset[c], (bias[c] - mean[c]) * factor[c] + shift[c]);
  }
}

}  // namespace
}  // namespace epochbench
