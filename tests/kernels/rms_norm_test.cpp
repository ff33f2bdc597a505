// Root mean square normalization, its gradient and its fused form on the CPU against the reference: odd sizes, large values,
// aliasing.
#include "tests/support/kernel_test.h"

namespace epochbench {
namespace {

constexpr double kEpsilon = 1e-5;

constexpr Matrix kMatrices[] = {{1, 1},  {33, 1},   {1, 17},   {2, 3},    {3, 16},   {4, 288}, {301, 5},
                                {70, 2}, {65, 128}, {70, 255}, {37, 513}, {5, 2049}, {2, 9000}};

GuardedBuffer<float> scales(std::int64_t channels) { return random_floats(channels, 1, 0.5, 2); }

template <typename Real>
struct Forward {
  GuardedBuffer<Real> y;
  GuardedBuffer<float> inv_rms;
  explicit Forward(const Matrix& m) : y(m.elements()), inv_rms(m.rows) {}
  bool guards_intact() const { return y.guards_intact() && inv_rms.guards_intact(); }
};

template <typename Real>
void check_forward(const Matrix& m, const GuardedBuffer<float>& values) {
  const GuardedBuffer<Real> x = reals<Real>(values);
  const GuardedBuffer<float> scale = scales(m.channels);
  Forward<float> expected(m);
  reference::rms_norm(expected.y.data(), expected.inv_rms.data(), floats(x).data(), scale.data(), m.rows, m.channels, kEpsilon);
  for_each_kernels_of<Real>(describe(m), [&](const cpu::Kernels<Real>& kernels, int threads) {
    Forward<Real> f(m), in_place(m), alone(m);
    kernels.rms_norm(f.y.data(), f.inv_rms.data(), x.data(), scale.data(), m.rows, m.channels, kEpsilon, threads);
    // Each rounding of a sum of up to 512 squares in float is relative to the sum; the square root halves it.
    expect_close(f.inv_rms, expected.inv_rms, {16 * kEps, 0});
    expect_close(floats(f.y), expected.y, rounded<Real>({18 * kEps, 0}));
    EXPECT_TRUE(f.guards_intact());
    in_place.y = x;
    kernels.rms_norm(in_place.y.data(), nullptr, in_place.y.data(), scale.data(), m.rows, m.channels, kEpsilon, threads);
    EXPECT_TRUE(test::bit_equal(in_place.y, f.y));
    kernels.rms_norm(alone.y.data(), alone.inv_rms.data(), x.data(), scale.data(), m.rows, m.channels, kEpsilon, 1);
    EXPECT_TRUE(test::bit_equal(alone.y, f.y));  // no sum is divided among threads
  });
}

template <typename Real>
class RmsNorm : public test::OfReal<Real> {};
TYPED_TEST_SUITE(RmsNorm, test::Reals, test::RealName);

TYPED_TEST(RmsNorm, MatchesReference) {
  for (const Matrix& m : kMatrices) check_forward<TypeParam>(m, random_floats(m.elements(), 3));
}

// The mean is not subtracted; of small values epsilon is most of the mean square.
TYPED_TEST(RmsNorm, LargeAndSmallValuesMatchReference) {
  for (double scale : {1e-3, 1e3}) {
    GuardedBuffer<float> x = random_floats(9 * 300, 5);
    for (float& value : x) value = static_cast<float>(scale * (2 + static_cast<double>(value)));
    check_forward<TypeParam>({9, 300}, x);
  }
}

TYPED_TEST(RmsNorm, OfZerosIsZero) {
  using Real = TypeParam;
  const Matrix m = {3, 40};
  const GuardedBuffer<float> scale = scales(m.channels);
  GuardedBuffer<Real> x(m.elements());
  std::fill(x.begin(), x.end(), Real{});
  for_each_kernels_of<Real>("", [&](const cpu::Kernels<Real>& kernels, int threads) {
    Forward<Real> f(m);
    kernels.rms_norm(f.y.data(), f.inv_rms.data(), x.data(), scale.data(), m.rows, m.channels, kEpsilon, threads);
    for (const Real value : f.y) EXPECT_EQ(test::widen(value), 0);
    for (float inverse : f.inv_rms) EXPECT_FLOAT_EQ(inverse, static_cast<float>(1 / std::sqrt(kEpsilon)));
  });
}

TYPED_TEST(RmsNorm, NanReachesItsRowOnly) {
  using Real = TypeParam;
  const Matrix m = {50, 70};
  GuardedBuffer<float> values = random_floats(m.elements(), 6);
  values[20 * m.channels + 3] = NAN;
  const GuardedBuffer<Real> x = reals<Real>(values);
  const GuardedBuffer<float> scale = scales(m.channels);
  for_each_kernels_of<Real>("", [&](const cpu::Kernels<Real>& kernels, int threads) {
    Forward<Real> f(m);
    kernels.rms_norm(f.y.data(), f.inv_rms.data(), x.data(), scale.data(), m.rows, m.channels, kEpsilon, threads);
    for (std::int64_t i = 0; i < m.elements(); ++i) ASSERT_EQ(std::isnan(test::widen(f.y[i])), i / m.channels == 20) << i;
  });
}

// The sum is rounded once and normalized as it is stored; without a place of its own it is in y.
TYPED_TEST(RmsNorm, OfASumIsThatOfTheStoredSum) {
  using Real = TypeParam;
  for (const Matrix& m : kMatrices) {
    const GuardedBuffer<Real> x = random_reals<Real>(m.elements(), 3), shortcut = random_reals<Real>(m.elements(), 4);
    const GuardedBuffer<float> scale = scales(m.channels);
    GuardedBuffer<float> sums = floats(x);
    for (std::int64_t i = 0; i < m.elements(); ++i) sums[i] += test::widen(shortcut[i]);
    const GuardedBuffer<Real> expected_sum = reals<Real>(sums);
    for_each_kernels_of<Real>(describe(m), [&](const cpu::Kernels<Real>& kernels, int threads) {
      Forward<Real> f(m), expected(m), without(m), over_x(m);
      GuardedBuffer<Real> sum(m.elements());
      over_x.y = x;
      kernels.rms_norm(expected.y.data(), expected.inv_rms.data(), expected_sum.data(), scale.data(), m.rows, m.channels,
                       kEpsilon, threads);
      kernels.add_rms_norm(f.y.data(), f.inv_rms.data(), sum.data(), x.data(), shortcut.data(), scale.data(), m.rows,
                           m.channels, kEpsilon, threads);
      kernels.add_rms_norm(without.y.data(), nullptr, nullptr, x.data(), shortcut.data(), scale.data(), m.rows, m.channels,
                           kEpsilon, threads);
      kernels.add_rms_norm(over_x.y.data(), nullptr, nullptr, over_x.y.data(), shortcut.data(), scale.data(), m.rows,
                           m.channels, kEpsilon, threads);
      EXPECT_TRUE(test::bit_equal(sum, expected_sum) && test::bit_equal(f.y, expected.y));
      EXPECT_TRUE(test::bit_equal(f.inv_rms, expected.inv_rms));
      EXPECT_TRUE(test::bit_equal(without.y, f.y) && test::bit_equal(over_x.y, f.y));
      EXPECT_TRUE(f.guards_intact() && sum.guards_intact());
    });
  }
}

template <typename Real>
struct Gradients {
  GuardedBuffer<Real> dx;
  GuardedBuffer<float> dscale;
  explicit Gradients(const Matrix& m) : dx(m.elements()), dscale(m.channels) {}
};

TYPED_TEST(RmsNorm, GradientMatchesReference) {
  using Real = TypeParam;
  for (const Matrix& m : kMatrices) {
    const GuardedBuffer<Real> x = random_reals<Real>(m.elements(), 3), dy = random_reals<Real>(m.elements(), 7);
    const GuardedBuffer<float> scale = scales(m.channels);
    Forward<float> f(m);
    reference::rms_norm(f.y.data(), f.inv_rms.data(), floats(x).data(), scale.data(), m.rows, m.channels, kEpsilon);
    Gradients<float> expected(m);
    reference::rms_norm_grad(expected.dx.data(), expected.dscale.data(), floats(dy).data(), floats(x).data(), scale.data(),
                             f.inv_rms.data(), m.rows, m.channels);
    double largest = 1;  // |normalized x|
    for (std::int64_t i = 0; i < m.elements(); ++i)
      largest = std::max(largest, std::fabs(static_cast<double>(test::widen(x[i])) * f.inv_rms[i / m.channels]));
    const double slope = 2 * max_abs(f.inv_rms), rows = static_cast<double>(m.rows);  // scales are below 2
    for_each_kernels_of<Real>(describe(m), [&](const cpu::Kernels<Real>& kernels, int threads) {
      GuardedBuffer<float> workspace = test::reduction_workspace(kernels, m.channels, threads);
      const auto run = [&](Gradients<Real>& g, Real* dx, const Real* from_dy, const Real* from_x) {
        kernels.rms_norm_grad(dx, g.dscale.data(), from_dy, from_x, scale.data(), f.inv_rms.data(), m.rows, m.channels,
                              workspace.data(), threads);
      };
      Gradients<Real> g(m), over_dy(m), over_x(m), without_dx(m);
      run(g, g.dx.data(), dy.data(), x.data());
      expect_close(g.dscale, expected.dscale, test::sum_tolerance(rows, largest));
      expect_close(floats(g.dx), expected.dx, rounded<Real>({0, 16 * kEps * slope * (1 + largest * largest)}));
      EXPECT_TRUE(g.dx.guards_intact() && g.dscale.guards_intact() && workspace.guards_intact());
      over_dy.dx = dy;
      over_x.dx = x;
      run(over_dy, over_dy.dx.data(), over_dy.dx.data(), x.data());
      run(over_x, over_x.dx.data(), dy.data(), over_x.dx.data());
      run(without_dx, nullptr, dy.data(), x.data());
      EXPECT_TRUE(test::bit_equal(over_dy.dx, g.dx) && test::bit_equal(over_x.dx, g.dx));
      for (const Gradients<Real>* other : {&over_dy, &over_x, &without_dx})  // also: bit-equal for equal threads
        EXPECT_TRUE(test::bit_equal(other->dscale, g.dscale));
    });
  }
}

}  // namespace
}  // namespace epochbench
