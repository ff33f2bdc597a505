// How accurate GELU in both forms and its gradient are on the CPU: near zero, in both tails and beyond them.
#include <limits>

#include "tests/support/kernel_test.h"

namespace epochbench {
namespace {

// The Bf16 kernels approximate Phi(-|x|) with relative error 2^-12.5 before they round. Where the slope is near 0, that is an
// absolute error.
template <typename Real>
constexpr double kApproximation = std::is_same_v<Real, float> ? 0 : 0x1.7p-13;
template <typename Real>
test::Tolerance approximated(test::Tolerance tolerance) {
  tolerance = rounded<Real>(tolerance);
  return {tolerance.relative + kApproximation<Real>, tolerance.absolute};
}
template <typename Real>
test::Tolerance slope_tolerance(double eps) {
  return approximated<Real>({eps, eps + kApproximation<Real>});
}

// x from -14 to 14 in steps of 2^-9, rounded to Real: every magnitude of the tails.
template <typename Real>
GuardedBuffer<Real> sweep() {
  GuardedBuffer<float> x(14 * 1024 + 1);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(x.size()); ++i) x[i] = static_cast<float>(i - 7 * 1024) / 512;
  return reals<Real>(x);
}

template <typename Real>
class Gelu : public testing::Test {};
TYPED_TEST_SUITE(Gelu, test::Reals, test::RealName);
template <typename Real>
class GeluGrad : public testing::Test {};
TYPED_TEST_SUITE(GeluGrad, test::Reals, test::RealName);

// A form of GELU: its kernels, and how many roundings its exponent suffers at x, times their size.
template <typename Real>
struct Form {
  decltype(&reference::gelu) reference;
  decltype(&reference::gelu_grad) reference_grad;
  decltype(cpu::Kernels<Real>::gelu) cpu::Kernels<Real>::*gelu;
  decltype(cpu::Kernels<Real>::gelu_grad) cpu::Kernels<Real>::*grad;
  double (*exponent_roundings)(double x, bool fused);
  double min_y_error, min_slope_error;  // errors where results approach the smallest normal float
};
// x * x / 2, which only a fused multiply-add computes without rounding it.
inline double erf_roundings(double x, bool fused) { return fused ? 0 : x * x / 2; }
// 2 sqrt(2 / pi) (x + 0.044715 x^3): two constants, a square, a sum and a product, of half an eps each.
inline double tanh_roundings(double x, bool) { return 2.5 * 1.5958 * (std::fabs(x) + 0.044715 * std::fabs(x * x * x)); }
template <typename Real>
const Form<Real> kForms[] = {{reference::gelu, reference::gelu_grad, &cpu::Kernels<Real>::gelu, &cpu::Kernels<Real>::gelu_grad,
                              erf_roundings, 8e-38, 1.1e-36},
                             {reference::gelu_tanh, reference::gelu_tanh_grad, &cpu::Kernels<Real>::gelu_tanh,
                              &cpu::Kernels<Real>::gelu_tanh_grad, tanh_roundings, 2e-37, 5e-36}};

// Relative error: a few roundings, plus those of the exponent, which the right tail does not show. Beyond 13 the result may be
// 0: `least` is the remaining absolute error.
template <typename Real>
void expect_relatively_close(const GuardedBuffer<float>& actual, const GuardedBuffer<float>& expected,
                             const GuardedBuffer<float>& x, const Form<Real>& form, bool fused, double roundings,
                             double least) {
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(x.size()); ++i) {
    const double of_exponent = x[i] > 0 ? 0 : form.exponent_roundings(x[i], fused);
    const double relative = (roundings + of_exponent) * kEps + approximated<Real>({}).relative;
    ASSERT_NEAR(actual[i], expected[i], relative * std::fabs(expected[i]) + least) << "x = " << x[i];
  }
}

template <typename Real>
bool fuses(const cpu::Kernels<Real>& kernels) {
  return std::string(kernels.isa) != "portable";
}

TYPED_TEST(Gelu, KeepsRelativeAccuracyInBothTails) {
  using Real = TypeParam;
  for (const Form<Real>& form : kForms<Real>) {
    const GuardedBuffer<Real> x_real = sweep<Real>();
    const GuardedBuffer<float> x = floats(x_real);
    const std::int64_t n = static_cast<std::int64_t>(x.size());
    GuardedBuffer<float> expected(n);
    form.reference(expected.data(), x.data(), n);
    for_each_kernels<Real>("", [&](const cpu::Kernels<Real>& kernels, int threads) {
      GuardedBuffer<Real> y(n);
      (kernels.*form.gelu)(y.data(), x_real.data(), n, threads);
      expect_relatively_close<Real>(floats(y), expected, x, form, fuses(kernels), 4, form.min_y_error);
    });
  }
}

TYPED_TEST(GeluGrad, KeepsRelativeAccuracyInBothTails) {
  using Real = TypeParam;
  for (const Form<Real>& form : kForms<Real>) {
    const GuardedBuffer<Real> x_real = sweep<Real>();
    const GuardedBuffer<float> x = floats(x_real);
    const std::int64_t n = static_cast<std::int64_t>(x.size());
    GuardedBuffer<float> expected(n), ones(n);
    std::fill(ones.begin(), ones.end(), 1.0f);
    const GuardedBuffer<Real> ones_real = reals<Real>(ones);
    form.reference_grad(expected.data(), ones.data(), x.data(), n);
    for_each_kernels<Real>("", [&](const cpu::Kernels<Real>& kernels, int threads) {
      GuardedBuffer<Real> dx_real(n);
      (kernels.*form.grad)(dx_real.data(), ones_real.data(), x_real.data(), n, threads);
      GuardedBuffer<float> dx = floats(dx_real);
      for (std::int64_t i = 0; i < n; ++i)  // the slope is 0 at -0.75, where only the absolute error can be small
        if (x[i] > -1.5f && x[i] < 0) {
          const test::Tolerance tolerance = slope_tolerance<Real>(kEps);
          ASSERT_NEAR(dx[i], expected[i], tolerance.absolute + tolerance.relative * std::fabs(expected[i])) << "x = " << x[i];
          dx[i] = expected[i];
        }
      expect_relatively_close<Real>(dx, expected, x, form, fuses(kernels), 6, form.min_slope_error);
    });
  }
}

TYPED_TEST(Gelu, ExtremeArgumentsHaveTheirLimits) {
  using Real = TypeParam;
  for (const Form<Real>& form : kForms<Real>) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity(), kLargest = std::numeric_limits<float>::max();
    const std::vector<float> x = {0.0f,  -0.0f,  1e-30f,   -1e-30f,   20,        -20,
                                  1e10f, -1e10f, kLargest, -kLargest, kInfinity, -kInfinity};
    const std::vector<float> y = {0, 0, 5e-31f, -5e-31f, 20, 0, 1e10f, 0, kLargest, 0, kInfinity, 0};
    const std::vector<float> slope = {0.5f, 0.5f, 0.5f, 0.5f, 1, 0, 1, 0, 1, 0, 1, 0};
    const std::int64_t n = static_cast<std::int64_t>(x.size());
    const auto real = [n](const std::vector<float>& values) {  // the largest float rounds to infinity in Bf16
      GuardedBuffer<float> copy(n);
      std::copy(values.begin(), values.end(), copy.begin());
      return reals<Real>(copy);
    };
    const GuardedBuffer<Real> x_real = real(x), ones = real(std::vector<float>(x.size(), 1.0f));
    const GuardedBuffer<float> y_real = floats(real(y));
    for_each_kernels<Real>("", [&](const cpu::Kernels<Real>& kernels, int threads) {
      GuardedBuffer<Real> out(n);
      (kernels.*form.gelu)(out.data(), x_real.data(), n, threads);
      expect_close(floats(out), y_real, approximated<Real>({kEps, 0}));
      (kernels.*form.grad)(out.data(), ones.data(), x_real.data(), n, threads);
      expect_close(floats(out), slope, approximated<Real>({kEps, 0}));
    });
  }
}

TEST(ReferenceGelu,
     MatchesTabulatedValues) {  // x Phi(x) and Phi(x) + x phi(x), Phi(1) = 0.8413447461, Phi(-5) = 2.866515719e-7
  const std::vector<float> x = {1, -1, -5}, ones = {1, 1, 1};
  std::vector<float> y(3), dx(3);
  reference::gelu(y.data(), x.data(), 3);
  reference::gelu_grad(dx.data(), ones.data(), x.data(), 3);
  expect_close(y, std::vector<float>{0.8413447461f, -0.1586552539f, -1.4332578594e-6f}, {kEps, 0});
  expect_close(dx, std::vector<float>{1.0833154706f, -0.0833154706f, -7.1469460e-6f}, {1e-7, 0});
}

TEST(ReferenceGelu, TanhFormMatchesValuesComputedWithFortyDigits) {
  const std::vector<float> x = {1, -1, -5}, ones = {1, 1, 1};
  std::vector<float> y(3), dx(3);
  reference::gelu_tanh(y.data(), x.data(), 3);
  reference::gelu_tanh_grad(dx.data(), ones.data(), x.data(), 3);
  expect_close(y, std::vector<float>{0.8411919906f, -0.1588080094f, -2.291796197e-7f}, {kEps, 0});
  expect_close(dx, std::vector<float>{1.082964084f, -0.08296408385f, -1.546361988e-6f}, {1e-7, 0});
}

}  // namespace
}  // namespace epochbench
