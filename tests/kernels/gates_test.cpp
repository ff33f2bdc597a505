// ReLU6, sigmoid, SiLU and their gradients, channels times numbers of each image, and stochastic depth on the CPU, against the
// reference.
#include "tests/support/kernel_test.h"

namespace epochbench {
namespace {

constexpr std::int64_t kSizes[] = {1, 3, 15, 16, 17, 31, 33, 255, 1000, 4099, 20011};

// The Bf16 kernels compute the exponential with relative error 2^-13.6.
template <typename Real>
test::Tolerance approximated(double eps) {
  const double error = std::is_same_v<Real, float> ? 0 : 0x1.8p-13;
  const test::Tolerance tolerance = rounded<Real>({eps, eps});
  return {tolerance.relative + error, tolerance.absolute + error};
}

template <typename Real>
using Unary = void (*cpu::Kernels<Real>::*)(Real*, const Real*, std::int64_t, int);
template <typename Real>
using Binary = void (*cpu::Kernels<Real>::*)(Real*, const Real*, const Real*, std::int64_t, int);

template <typename Real>
void check(Unary<Real> kernel, decltype(reference::relu6)* oracle, const test::Tolerance& tolerance) {
  for (std::int64_t n : kSizes) {
    GuardedBuffer<float> values = random_floats(n, 1, -9, 9);
    for (std::int64_t i = 0; i < n; i += 7) values[i] = i % 2 == 0 ? 0.0f : kSix;
    const GuardedBuffer<Real> x = reals<Real>(values);
    GuardedBuffer<float> expected(n);
    oracle(expected.data(), floats(x).data(), n);
    for_each_kernels_of<Real>("n=" + std::to_string(n), [&](const cpu::Kernels<Real>& kernels, int threads) {
      GuardedBuffer<Real> y(n), in_place = x;
      (kernels.*kernel)(y.data(), x.data(), n, threads);
      (kernels.*kernel)(in_place.data(), in_place.data(), n, threads);
      expect_close(floats(y), expected, tolerance);
      EXPECT_TRUE(test::bit_equal(in_place, y));
      EXPECT_TRUE(y.guards_intact());
    });
  }
}

// second: what the gradient reads beside dy, between `low` and `high`.
template <typename Real>
void check_grad(Binary<Real> kernel, decltype(reference::relu6_grad)* oracle, double low, double high,
                const test::Tolerance& tolerance) {
  for (std::int64_t n : kSizes) {
    GuardedBuffer<float> values = random_floats(n, 2, low, high);
    for (std::int64_t i = 0; i < n; i += 7) values[i] = static_cast<float>(i % 2 == 0 ? low : high);
    const GuardedBuffer<Real> dy = random_reals<Real>(n, 3), second = reals<Real>(values);
    GuardedBuffer<float> expected(n);
    oracle(expected.data(), floats(dy).data(), floats(second).data(), n);
    for_each_kernels_of<Real>("n=" + std::to_string(n), [&](const cpu::Kernels<Real>& kernels, int threads) {
      GuardedBuffer<Real> dx(n), over_dy = dy, over_second = second;
      (kernels.*kernel)(dx.data(), dy.data(), second.data(), n, threads);
      (kernels.*kernel)(over_dy.data(), over_dy.data(), second.data(), n, threads);
      (kernels.*kernel)(over_second.data(), dy.data(), over_second.data(), n, threads);
      expect_close(floats(dx), expected, tolerance);
      EXPECT_TRUE(test::bit_equal(over_dy, dx));
      EXPECT_TRUE(test::bit_equal(over_second, dx));
      EXPECT_TRUE(dx.guards_intact());
    });
  }
}

template <typename Real>
class Gates : public test::OfReal<Real> {};
TYPED_TEST_SUITE(Gates, test::Reals, test::RealName);

TYPED_TEST(Gates, Relu6MatchesReference) {
  using K = cpu::Kernels<TypeParam>;
  check<TypeParam>(&K::relu6, reference::relu6, kExact);
  check_grad<TypeParam>(&K::relu6_grad, reference::relu6_grad, 0, 6, kExact);
}

TYPED_TEST(Gates, SigmoidMatchesReference) {
  using K = cpu::Kernels<TypeParam>;
  check<TypeParam>(&K::sigmoid, reference::sigmoid, approximated<TypeParam>(4 * kEps));
  check_grad<TypeParam>(&K::sigmoid_grad, reference::sigmoid_grad, 0, 1, rounded<TypeParam>({3 * kEps, 0}));
}

TYPED_TEST(Gates, SiluMatchesReference) {
  using K = cpu::Kernels<TypeParam>;
  check<TypeParam>(&K::silu, reference::silu, approximated<TypeParam>(5 * kEps));
  check_grad<TypeParam>(&K::silu_grad, reference::silu_grad, -9, 9, approximated<TypeParam>(8 * kEps));
}

// Infinities, and magnitudes whose exponential is 0; a NaN stays visible.
TYPED_TEST(Gates, HaveTheirLimits) {
  using Real = TypeParam;
  for_each_kernels_of<Real>("", [](const cpu::Kernels<Real>& kernels, int threads) {
    const std::vector<float> values{NAN, 200, -200, INFINITY, -INFINITY, 0};
    GuardedBuffer<float> wide(static_cast<std::int64_t>(values.size()));
    std::copy(values.begin(), values.end(), wide.begin());
    const GuardedBuffer<Real> x = reals<Real>(wide);
    GuardedBuffer<Real> s(6), six(6), swish(6);
    kernels.sigmoid(s.data(), x.data(), 6, threads);
    kernels.relu6(six.data(), x.data(), 6, threads);
    kernels.silu(swish.data(), x.data(), 6, threads);
    const std::vector<float> sigmoids{0, 1, 0, 1, 0, 0.5f}, sixes{0, 6, 0, 6, 0, 0};
    for (std::int64_t i = 1; i < 6; ++i) {
      EXPECT_EQ(test::widen(s[i]), sigmoids[static_cast<std::size_t>(i)]) << i;
      EXPECT_EQ(test::widen(six[i]), sixes[static_cast<std::size_t>(i)]) << i;
    }
    EXPECT_EQ(test::widen(swish[1]), 200);
    EXPECT_EQ(test::widen(swish[2]), 0);
    for (const auto* y : {&s, &six, &swish}) EXPECT_TRUE(std::isnan(test::widen((*y)[0])));
  });
}

struct Images {
  std::int64_t batch, pixels, channels;
  std::int64_t elements() const { return batch * pixels * channels; }
};
constexpr Images kImages[] = {{1, 1, 1}, {3, 49, 10}, {2, 64, 64}, {1, 49, 528}, {7, 5, 65}, {1, 20000, 3}, {2, 130, 96}};

TYPED_TEST(Gates, ScaleOfChannelsAndItsGradientMatchReference) {
  using Real = TypeParam;
  for (const Images& s : kImages) {
    const GuardedBuffer<Real> x = random_reals<Real>(s.elements(), 4), scale = random_reals<Real>(s.batch * s.channels, 5),
                              dy = random_reals<Real>(s.elements(), 6);
    GuardedBuffer<float> expected(s.elements()), expected_grad(s.batch * s.channels);
    reference::scale_channels(expected.data(), floats(x).data(), floats(scale).data(), s.batch, s.pixels, s.channels);
    reference::scale_channels_grad(expected_grad.data(), floats(dy).data(), floats(x).data(), s.batch, s.pixels, s.channels);
    for_each_kernels_of<Real>(std::to_string(s.pixels), [&](const cpu::Kernels<Real>& kernels, int threads) {
      GuardedBuffer<Real> y(s.elements()), in_place = x, dscale(s.batch * s.channels);
      kernels.scale_channels(y.data(), x.data(), scale.data(), s.batch, s.pixels, s.channels, threads);
      kernels.scale_channels(in_place.data(), in_place.data(), scale.data(), s.batch, s.pixels, s.channels, threads);
      kernels.scale_channels_grad(dscale.data(), dy.data(), x.data(), s.batch, s.pixels, s.channels, threads);
      expect_close(floats(y), expected, rounded<Real>(kExact));
      // 64 products are added in float, a random walk.
      expect_close(floats(dscale), expected_grad, rounded<Real>(test::sum_tolerance(static_cast<double>(s.pixels), 8)));
      EXPECT_TRUE(test::bit_equal(in_place, y));
      EXPECT_TRUE(y.guards_intact() && dscale.guards_intact());
    });
  }
}

// With and without silu after it.
TYPED_TEST(Gates, GradientOfSqueezeExciteMatchesReference) {
  using Real = TypeParam;
  for (const Images& s : kImages) {
    const GuardedBuffer<Real> dy = random_reals<Real>(s.elements(), 4), scale = random_reals<Real>(s.batch * s.channels, 5),
                              dmean = random_reals<Real>(s.batch * s.channels, 6), x = random_reals<Real>(s.elements(), 7);
    GuardedBuffer<float> sum(s.elements()), spread(s.elements()), expected(s.elements());
    reference::scale_channels(sum.data(), floats(dy).data(), floats(scale).data(), s.batch, s.pixels, s.channels);
    reference::global_average_pool_grad(spread.data(), floats(dmean).data(), s.batch, s.pixels, s.channels);
    reference::add(sum.data(), sum.data(), spread.data(), s.elements());
    reference::silu_grad(expected.data(), sum.data(), floats(x).data(), s.elements());
    for_each_kernels_of<Real>(std::to_string(s.pixels), [&](const cpu::Kernels<Real>& kernels, int threads) {
      const auto run = [&](GuardedBuffer<Real>& dx, const Real* of_dy, const Real* of_x) {
        kernels.squeeze_excite_grad(dx.data(), of_dy, scale.data(), dmean.data(), of_x, s.batch, s.pixels, s.channels, threads);
        EXPECT_TRUE(dx.guards_intact());
      };
      GuardedBuffer<Real> plain(s.elements()), dx(s.elements()), over_dy = dy, over_x = x;
      run(plain, dy.data(), nullptr);
      run(dx, dy.data(), x.data());
      run(over_dy, over_dy.data(), x.data());
      run(over_x, dy.data(), over_x.data());
      expect_close(floats(plain), sum, rounded<Real>({3 * kEps, 3 * kEps}));
      expect_close(floats(dx), expected, approximated<Real>(12 * kEps));
      EXPECT_TRUE(test::bit_equal(over_dy, dx));
      EXPECT_TRUE(test::bit_equal(over_x, dx));
    });
  }
}

// Pairs of rows, the last of an odd number by itself; a share of 1 and of 0.
TYPED_TEST(Gates, MixedRowsMatchReference) {
  using Real = TypeParam;
  for (const auto& [rows, n] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {2, 3}, {3, 17}, {5, 4099}, {8, 784}, {64, 33}}) {
    const GuardedBuffer<Real> x = random_reals<Real>(rows * n, 9);
    GuardedBuffer<float> share = random_floats(rows, 10, 0, 1), expected(rows * n);
    share[0] = 1;
    share[rows - 1] = 0;
    reference::mix_rows(expected.data(), floats(x).data(), share.data(), rows, n);
    for_each_kernels_of<Real>(std::to_string(n), [&, rows = rows, n = n](const cpu::Kernels<Real>& kernels, int threads) {
      GuardedBuffer<Real> y(rows * n);
      kernels.mix_rows(y.data(), x.data(), share.data(), rows, n, threads);
      // The difference of two numbers below 1 and its product are rounded, and the sum.
      expect_close(floats(y), expected, rounded<Real>({0, 5 * kEps}));
      EXPECT_TRUE(y.guards_intact());
    });
  }
}

// Sample i as element i of dropout; what is dropped is 0, even a NaN.
TYPED_TEST(Gates, StochasticDepthDropsSamplesAsDropoutDropsElements) {
  using Real = TypeParam;
  const Dropout dropout{7, 3, 0x60000000u, 1.6f};
  const std::int32_t step = 5;
  for (const auto& [batch, n] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {9, 17}, {5, 4100}, {16, 64}}) {
    const GuardedBuffer<Real> x = random_reals<Real>(batch * n, 8);
    GuardedBuffer<float> ones(batch), factors(batch), expected(batch * n);
    std::fill(ones.begin(), ones.end(), 1.0f);
    reference::dropout(factors.data(), ones.data(), &step, dropout, batch);
    const GuardedBuffer<float> wide = floats(x);
    for (std::int64_t i = 0; i < batch * n; ++i) expected[i] = wide[i] * factors[i / n];
    GuardedBuffer<float> oracle(batch * n);
    reference::stochastic_depth(oracle.data(), wide.data(), &step, dropout, batch, n);
    expect_close(oracle, expected, kExact);
    for_each_kernels_of<Real>(std::to_string(n), [&, batch = batch, n = n](const cpu::Kernels<Real>& kernels, int threads) {
      GuardedBuffer<Real> y(batch * n), in_place = x;
      for (std::int64_t i = 0; i < batch * n; ++i)
        if (factors[i / n] == 0) in_place[i] = reals<Real>(test::GuardedBuffer<float>(1))[0];  // NaN
      kernels.stochastic_depth(y.data(), x.data(), &step, dropout, batch, n, threads);
      kernels.stochastic_depth(in_place.data(), in_place.data(), &step, dropout, batch, n, threads);
      expect_close(floats(y), expected, rounded<Real>(kExact));
      EXPECT_TRUE(test::bit_equal(in_place, y));
      EXPECT_TRUE(y.guards_intact());
    });
  }
}

}  // namespace
}  // namespace epochbench
