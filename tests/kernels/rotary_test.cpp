// Rotary position embedding and SwiGLU on the CPU against the reference: odd sizes, columns that stay, tensors side by side,
// aliasing.
#include "tests/support/kernel_test.h"
#include "tests/support/shapes.h"

namespace epochbench {
namespace {

template <typename Real>
class Rotary : public test::OfReal<Real> {};
TYPED_TEST_SUITE(Rotary, test::Reals, test::RealName);

constexpr RotaryShape kShapes[] = {{1, 2, 1, 2, 1},    {3, 6, 3, 2, 2},       {4, 13, 2, 6, 2},
                                   {6, 288, 3, 48, 6}, {10, 96, 5, 48, 1},    {4, 640, 4, 128, 3},
                                   {5, 66, 1, 66, 1},  {600, 70, 300, 10, 6}, {256, 480, 64, 48, 8}};

TYPED_TEST(Rotary, MatchesReference) {
  using Real = TypeParam;
  for (RotaryShape s : kShapes)
    for (bool inverse : {false, true}) {
      s.inverse = inverse;
      const GuardedBuffer<Real> x = random_reals<Real>(s.rows * s.columns, 1);
      const GuardedBuffer<float> table = random_floats(s.sequence * s.width, 2);
      GuardedBuffer<float> expected(s.rows * s.columns);
      reference::rotary(expected.data(), floats(x).data(), table.data(), s);
      for_each_kernels_of<Real>(describe(s), [&](const cpu::Kernels<Real>& kernels, int threads) {
        GuardedBuffer<Real> y(s.rows * s.columns), in_place = x;
        kernels.rotary(y.data(), x.data(), table.data(), s, threads);
        kernels.rotary(in_place.data(), in_place.data(), table.data(), s, threads);
        expect_close(floats(y), expected, rounded<Real>({kEps, 3 * kEps}));
        EXPECT_TRUE(test::bit_equal(in_place, y));
        EXPECT_TRUE(y.guards_intact() && in_place.guards_intact());
      });
    }
}

// By a quarter turn: (a, b) becomes (-b, a), as in Hugging Face's rotate_half, and column 4 stays.
TEST(RotaryReference, MatchesWorkedCase) {
  const float x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, table[] = {0, 1, 1, 0, 1, 0, 0, 1};
  GuardedBuffer<float> y(10), expected(10);
  const float rotated[] = {-3, 2, 1, 4, 5, 6, -9, 8, 7, 10};
  std::copy_n(rotated, 10, expected.data());
  reference::rotary(y.data(), x, table, {2, 5, 2, 4, 1});
  expect_close(y, expected, kExact);
}

template <typename Real>
class Swiglu : public test::OfReal<Real> {};
TYPED_TEST_SUITE(Swiglu, test::Reals, test::RealName);

// The Bf16 kernels compute the exponential with relative error 2^-13.6.
template <typename Real>
test::Tolerance approximated(double eps) {
  const double error = std::is_same_v<Real, float> ? 0 : 0x1.8p-13;
  const test::Tolerance tolerance = rounded<Real>({eps, eps});
  return {tolerance.relative + error, tolerance.absolute + 8 * error};
}

constexpr SwigluShape kSwiglus[] = {{1, 1}, {1, 33}, {1, 20011}, {1, 1, true}, {3, 17, true}, {70, 768, true}, {31, 255, true}};

TYPED_TEST(Swiglu, MatchesReference) {
  using Real = TypeParam;
  for (const SwigluShape& s : kSwiglus) {
    // One buffer with up right after gate, or beside it in every row.
    const std::int64_t n = s.rows * s.width, up = s.joint ? s.width : n;
    const GuardedBuffer<Real> x = random_reals<Real>(2 * n, 1, -9, 9), dy = random_reals<Real>(n, 2);
    const GuardedBuffer<float> wide = floats(x);
    GuardedBuffer<float> expected(n), expected_grad(2 * n);
    reference::swiglu(expected.data(), wide.data(), wide.data() + up, s);
    reference::swiglu_grad(expected_grad.data(), expected_grad.data() + up, floats(dy).data(), wide.data(), wide.data() + up,
                           s);
    for_each_kernels_of<Real>(describe(s), [&](const cpu::Kernels<Real>& kernels, int threads) {
      GuardedBuffer<Real> y(n), grad(2 * n), in_place = x, one(2 * n);
      kernels.swiglu(y.data(), x.data(), x.data() + up, s, threads);
      kernels.swiglu_grad(grad.data(), grad.data() + up, dy.data(), x.data(), x.data() + up, s, threads);
      kernels.swiglu_grad(in_place.data(), in_place.data() + up, dy.data(), in_place.data(), in_place.data() + up, s, threads);
      expect_close(floats(y), expected, approximated<Real>(8 * 9 * kEps));
      expect_close(floats(grad), expected_grad, approximated<Real>(12 * 9 * kEps));
      EXPECT_TRUE(test::bit_equal(in_place, grad));
      kernels.swiglu_grad(one.data(), nullptr, dy.data(), x.data(), x.data() + up, s, threads);
      kernels.swiglu_grad(nullptr, one.data() + up, dy.data(), x.data(), x.data() + up, s, threads);
      expect_close(floats(one), expected_grad, approximated<Real>(12 * 9 * kEps));
      EXPECT_TRUE(y.guards_intact() && grad.guards_intact() && in_place.guards_intact());
    });
  }
}

}  // namespace
}  // namespace epochbench
