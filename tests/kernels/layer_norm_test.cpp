// Layer normalization and its gradient on the CPU against the reference: odd sizes, hard statistics, aliasing.
#include "tests/support/kernel_test.h"

namespace epochbench {
namespace {

constexpr double kEpsilon = 1e-12;

constexpr Matrix kMatrices[] = {{1, 2},  {1, 17},   {2, 3},    {3, 16},   {4, 768},  {301, 5},
                                {33, 1}, {65, 128}, {70, 255}, {37, 513}, {5, 2049}, {2, 9000}};

struct Parameters {
  GuardedBuffer<float> scale, bias;
  explicit Parameters(std::int64_t channels) : scale(random_floats(channels, 1, 0.5, 2)), bias(random_floats(channels, 2)) {}
};

template <typename Real>
struct Forward {
  GuardedBuffer<Real> y;
  GuardedBuffer<float> mean, inv_std;
  explicit Forward(const Matrix& m) : y(m.elements()), mean(m.rows), inv_std(m.rows) {}
  bool guards_intact() const { return y.guards_intact() && mean.guards_intact() && inv_std.guards_intact(); }
};

Forward<float> reference_forward(const Matrix& m, const GuardedBuffer<float>& x, const Parameters& p, double epsilon) {
  Forward<float> f(m);
  reference::layer_norm(f.y.data(), f.mean.data(), f.inv_std.data(), x.data(), p.scale.data(), p.bias.data(), m.rows,
                        m.channels, epsilon);
  return f;
}

// Errors of the statistics are relative to the deviation of a row, however large its mean.
template <typename Real>
void check_forward(const Matrix& m, const GuardedBuffer<float>& values, double deviation, double epsilon = kEpsilon,
                   double roundings = 16) {
  const Parameters p(m.channels);
  const GuardedBuffer<Real> x_real = reals<Real>(values);
  const GuardedBuffer<float> x = floats(x_real);
  const Forward<float> expected = reference_forward(m, x, p, epsilon);
  for_each_kernels_of<Real>(describe(m), [&](const cpu::Kernels<Real>& kernels, int threads) {
    Forward<Real> f(m), in_place(m), alone(m);
    kernels.layer_norm(f.y.data(), f.mean.data(), f.inv_std.data(), x_real.data(), p.scale.data(), p.bias.data(), m.rows,
                       m.channels, epsilon, threads);
    expect_close(f.mean, expected.mean, {kEps, 4 * kEps * deviation});
    expect_close(f.inv_std, expected.inv_std, {roundings * kEps, 0});
    expect_close(floats(f.y), expected.y, rounded<Real>({0, roundings * kEps * (max_abs(expected.y) + 1)}));
    EXPECT_TRUE(f.guards_intact());
    in_place.y = x_real;
    kernels.layer_norm(in_place.y.data(), nullptr, nullptr, in_place.y.data(), p.scale.data(), p.bias.data(), m.rows,
                       m.channels, epsilon, threads);
    EXPECT_TRUE(test::bit_equal(in_place.y, f.y));
    kernels.layer_norm(alone.y.data(), alone.mean.data(), alone.inv_std.data(), x_real.data(), p.scale.data(), p.bias.data(),
                       m.rows, m.channels, epsilon, 1);
    EXPECT_TRUE(test::bit_equal(alone.y, f.y));  // no sum is divided among threads
  });
}

template <typename Real>
class LayerNorm : public test::OfReal<Real> {};
TYPED_TEST_SUITE(LayerNorm, test::Reals, test::RealName);
template <typename Real>
class LayerNormGrad : public test::OfReal<Real> {};
TYPED_TEST_SUITE(LayerNormGrad, test::Reals, test::RealName);

TYPED_TEST(LayerNorm, MatchesReference) {
  for (const Matrix& m : kMatrices)
    if (m.channels > 1) check_forward<TypeParam>(m, random_floats(m.elements(), 3), 1);
}

// One channel, or equal values whose float mean is exact: the variance is 0 and the result is the bias.
TYPED_TEST(LayerNorm, RowsWithoutVarianceGiveTheBias) {
  using Real = TypeParam;
  for (const Matrix& m : {Matrix{33, 1}, Matrix{7, 64}}) {
    GuardedBuffer<float> values(m.elements());
    std::fill(values.begin(), values.end(), 0.75f);
    const GuardedBuffer<Real> x = reals<Real>(values);
    const Parameters p(m.channels);
    const GuardedBuffer<Real> bias = reals<Real>(p.bias);  // rounded like the result
    for_each_kernels_of<Real>(describe(m), [&](const cpu::Kernels<Real>& kernels, int threads) {
      Forward<Real> f(m);
      kernels.layer_norm(f.y.data(), f.mean.data(), f.inv_std.data(), x.data(), p.scale.data(), p.bias.data(), m.rows,
                         m.channels, kEpsilon, threads);
      for (std::int64_t i = 0; i < m.elements(); ++i) ASSERT_EQ(test::widen(f.y[i]), test::widen(bias[i % m.channels])) << i;
      for (float inverse : f.inv_std) ASSERT_FLOAT_EQ(inverse, 1e6f);
    });
  }
}

// Epsilon is a thousandth of the variance, so omitting it or adding it elsewhere would show.
TYPED_TEST(LayerNorm, EpsilonIsAddedToTheVariance) {
  const Matrix m = {5, 96};
  GuardedBuffer<float> x = random_floats(m.elements(), 4, -0.01, 0.01);
  check_forward<TypeParam>(m, x, 0.01, 1e-5);
}

// One unit in the last place of 10,000 is a tenth of this deviation: sums of squares in float would see none at all.
TYPED_TEST(LayerNorm, MeanFarAboveDeviationMatchesReference) {
  for (const Matrix& m : {Matrix{9, 768}, Matrix{3, 5000}, Matrix{40, 33}}) {
    GuardedBuffer<float> x = random_floats(m.elements(), 5);
    for (float& value : x) value = 1e4f + 0.01f * value;
    check_forward<TypeParam>(m, x, 0.01);
  }
}

// After the outlier, each of up to 512 small squares rounds in the same direction in the float sum, by at most half a unit;
// the square root halves that.
TYPED_TEST(LayerNorm, OutlierInAnOtherwiseConstantRowMatchesReference) {
  const Matrix m = {6, 3001};
  GuardedBuffer<float> x(m.elements());
  std::fill(x.begin(), x.end(), 0.3f);
  for (std::int64_t r = 0; r < m.rows; ++r) x[r * m.channels + r * 600] = 1000;
  check_forward<TypeParam>(m, x, 1000 / std::sqrt(3001.0), kEpsilon, 512 / 4);
}

TYPED_TEST(LayerNorm, NanReachesItsRowOnly) {
  using Real = TypeParam;
  const Matrix m = {50, 70};
  GuardedBuffer<float> values = random_floats(m.elements(), 6);
  values[20 * m.channels + 3] = NAN;
  const GuardedBuffer<Real> x = reals<Real>(values);
  const Parameters p(m.channels);
  for_each_kernels_of<Real>("", [&](const cpu::Kernels<Real>& kernels, int threads) {
    Forward<Real> f(m);
    kernels.layer_norm(f.y.data(), f.mean.data(), f.inv_std.data(), x.data(), p.scale.data(), p.bias.data(), m.rows, m.channels,
                       kEpsilon, threads);
    for (std::int64_t i = 0; i < m.elements(); ++i) ASSERT_EQ(std::isnan(test::widen(f.y[i])), i / m.channels == 20) << i;
  });
}

template <typename Real>
struct Gradients {
  GuardedBuffer<Real> dx;
  GuardedBuffer<float> dscale, dbias;
  explicit Gradients(const Matrix& m) : dx(m.elements()), dscale(m.channels), dbias(m.channels) {}
  bool guards_intact() const { return dx.guards_intact() && dscale.guards_intact() && dbias.guards_intact(); }
};

template <typename Real>
void check_gradient(const Matrix& m, const GuardedBuffer<float>& values) {
  const Parameters p(m.channels);
  const GuardedBuffer<Real> x_real = reals<Real>(values), dy_real = random_reals<Real>(m.elements(), 7);
  const GuardedBuffer<float> x = floats(x_real), dy = floats(dy_real);
  const Forward<float> f = reference_forward(m, x, p, kEpsilon);
  Gradients<float> expected(m);
  reference::layer_norm_grad(expected.dx.data(), expected.dscale.data(), expected.dbias.data(), dy.data(), x.data(),
                             p.scale.data(), f.mean.data(), f.inv_std.data(), m.rows, m.channels);
  double largest = 1;  // |normalized x|
  for (std::int64_t i = 0; i < m.elements(); ++i) {
    const std::int64_t r = i / m.channels;
    largest = std::max(largest, std::fabs((static_cast<double>(x[i]) - f.mean[r]) * f.inv_std[r]));
  }
  const double slope = 2 * max_abs(f.inv_std), rows = static_cast<double>(m.rows);  // scales are below 2
  for_each_kernels_of<Real>(describe(m), [&](const cpu::Kernels<Real>& kernels, int threads) {
    GuardedBuffer<float> workspace = test::reduction_workspace(kernels, m.channels, threads);
    const auto run = [&](Gradients<Real>& g, Real* dx, const Real* from_dy, const Real* from_x) {
      kernels.layer_norm_grad(dx, g.dscale.data(), g.dbias.data(), from_dy, from_x, p.scale.data(), f.mean.data(),
                              f.inv_std.data(), m.rows, m.channels, workspace.data(), threads);
    };
    Gradients<Real> g(m), over_dy(m), over_x(m), without_dx(m);
    run(g, g.dx.data(), dy_real.data(), x_real.data());
    expect_close(g.dbias, expected.dbias, test::sum_tolerance(rows, 1));
    expect_close(g.dscale, expected.dscale, test::sum_tolerance(rows, largest));
    expect_close(floats(g.dx), expected.dx, rounded<Real>({0, 16 * kEps * slope * (1 + largest * largest)}));
    EXPECT_TRUE(g.guards_intact());
    EXPECT_TRUE(workspace.guards_intact());

    over_dy.dx = dy_real;
    over_x.dx = x_real;
    run(over_dy, over_dy.dx.data(), over_dy.dx.data(), x_real.data());
    run(over_x, over_x.dx.data(), dy_real.data(), over_x.dx.data());
    run(without_dx, nullptr, dy_real.data(), x_real.data());
    EXPECT_TRUE(test::bit_equal(over_dy.dx, g.dx));
    EXPECT_TRUE(test::bit_equal(over_x.dx, g.dx));
    for (const Gradients<Real>* other : {&over_dy, &over_x, &without_dx}) {  // also: bit-equal for equal threads
      EXPECT_TRUE(test::bit_equal(other->dscale, g.dscale));
      EXPECT_TRUE(test::bit_equal(other->dbias, g.dbias));
    }
  });
}

TYPED_TEST(LayerNormGrad, MatchesReference) {
  for (const Matrix& m : kMatrices)
    if (m.channels > 1) check_gradient<TypeParam>(m, random_floats(m.elements(), 8));
}

TYPED_TEST(LayerNormGrad, ManyRowsMatchReference) { check_gradient<TypeParam>({30011, 6}, random_floats(180066, 9)); }

TYPED_TEST(LayerNormGrad, MeanFarAboveDeviationMatchesReference) {
  const Matrix m = {70, 200};
  GuardedBuffer<float> x = random_floats(m.elements(), 10);
  for (float& value : x) value = 1e4f + 0.1f * value;
  check_gradient<TypeParam>(m, x);
}

TEST(ReferenceLayerNorm, WorkedOutByHand) {
  const std::vector<float> x = {1, 3, 5, 5}, scale = {2, 1}, bias = {0, 10};  // rows: mean 2, deviation 1; mean 5, deviation 0
  std::vector<float> y(4), mean(2), inv_std(2);
  reference::layer_norm(y.data(), mean.data(), inv_std.data(), x.data(), scale.data(), bias.data(), 2, 2, 0.0625);
  expect_close(mean, std::vector<float>{2, 5}, kExact);
  expect_close(inv_std, std::vector<float>{0.9701425f, 4}, {kEps, 0});  // 1 / sqrt(1.0625), 1 / sqrt(0.0625)
  expect_close(y, std::vector<float>{-1.940285f, 10.9701425f, 0, 10}, {kEps, 0});
}

}  // namespace
}  // namespace epochbench
