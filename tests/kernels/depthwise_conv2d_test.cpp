// Depthwise convolution on the CPU and its gradients against the reference.
#include "tests/support/kernel_test.h"

namespace epochbench {
namespace {

std::int64_t taps(const Conv2dShape& s) { return s.kernel_height * s.kernel_width; }
std::int64_t pixels(const Conv2dShape& s) { return s.batch * s.out_height * s.out_width; }

template <typename Real>
class DepthwiseConv2d : public test::OfReal<Real> {};
TYPED_TEST_SUITE(DepthwiseConv2d, test::Reals, test::RealName);

TYPED_TEST(DepthwiseConv2d, MatchesReference) {
  using Real = TypeParam;
  for (const Conv2dShape& s : test::kDepthwise) {
    const GuardedBuffer<Real> x = random_reals<Real>(inputs(s), 1), weight = random_reals<Real>(taps(s) * s.channels, 2);
    GuardedBuffer<float> expected(outputs(s));
    reference::depthwise_conv2d(expected.data(), floats(x).data(), floats(weight).data(), s);
    for_each_kernels_of<Real>(test::describe(s), [&](const cpu::Kernels<Real>& kernels, int threads) {
      GuardedBuffer<Real> y(outputs(s));
      kernels.depthwise_conv2d(y.data(), x.data(), weight.data(), s, threads);
      expect_close(floats(y), expected, rounded<Real>(test::sum_tolerance(static_cast<double>(taps(s)), 1)));
      EXPECT_TRUE(y.guards_intact());
    });
  }
}

TYPED_TEST(DepthwiseConv2d, GradientOfTheInputMatchesReference) {
  using Real = TypeParam;
  for (const Conv2dShape& s : test::kDepthwise) {
    const GuardedBuffer<Real> dy = random_reals<Real>(outputs(s), 3), weight = random_reals<Real>(taps(s) * s.channels, 4);
    GuardedBuffer<float> expected(inputs(s));
    reference::depthwise_conv2d_grad_input(expected.data(), floats(dy).data(), floats(weight).data(), s);
    for_each_kernels_of<Real>(test::describe(s), [&](const cpu::Kernels<Real>& kernels, int threads) {
      GuardedBuffer<Real> dx(inputs(s));
      kernels.depthwise_conv2d_grad_input(dx.data(), dy.data(), weight.data(), s, threads);
      expect_close(floats(dx), expected, rounded<Real>(test::sum_tolerance(static_cast<double>(taps(s)), 1)));
      EXPECT_TRUE(dx.guards_intact());
    });
  }
}

template <typename Real>
void check_grad_weight(const Conv2dShape& s) {
  const GuardedBuffer<Real> dy = random_reals<Real>(outputs(s), 5), x = random_reals<Real>(inputs(s), 6);
  GuardedBuffer<float> expected(taps(s) * s.channels);
  reference::depthwise_conv2d_grad_weight(expected.data(), floats(dy).data(), floats(x).data(), s);
  for_each_kernels_of<Real>(test::describe(s), [&](const cpu::Kernels<Real>& kernels, int threads) {
    GuardedBuffer<Real> dweight(taps(s) * s.channels), again(taps(s) * s.channels);
    GuardedBuffer<float> workspace(
        static_cast<std::int64_t>(kernels.depthwise_conv2d_grad_weight_workspace_bytes(s, threads) / sizeof(float)));
    kernels.depthwise_conv2d_grad_weight(dweight.data(), dy.data(), x.data(), s, workspace.data(), threads);
    kernels.depthwise_conv2d_grad_weight(again.data(), dy.data(), x.data(), s, workspace.data(), threads);
    const double terms = static_cast<double>(pixels(s));  // of a random walk
    expect_close(floats(dweight), expected, rounded<Real>(test::sum_tolerance(terms, std::sqrt(std::min(terms, 400.0)))));
    EXPECT_TRUE(test::bit_equal(dweight, again));
    EXPECT_TRUE(dweight.guards_intact() && workspace.guards_intact());
  });
}

TYPED_TEST(DepthwiseConv2d, GradientOfTheWeightMatchesReference) {
  for (const Conv2dShape& s : test::kDepthwise) check_grad_weight<TypeParam>(s);
}

// Several times the pixels that are summed in float.
TYPED_TEST(DepthwiseConv2d, GradientOfTheWeightOverManyPixelsMatchesReference) {
  check_grad_weight<TypeParam>(test::depthwise(3, 40, 41, 5, 3, 1, 1));
}

// Outputs that no cache holds, which are stored past them: forward, and the gradient of the input at a stride of 2.
TEST(LargeDepthwiseConv2d, MatchesReference) {
  const Conv2dShape s = test::depthwise(1, 367, 362, 64, 3, 1, 1), spread = test::depthwise(1, 367, 362, 64, 3, 2, 1);
  ASSERT_GT(inputs(s) * static_cast<std::int64_t>(sizeof(float)), std::int64_t{32} << 20);
  const GuardedBuffer<float> x = random_floats(inputs(s), 1), weight = random_floats(9 * 64, 2);
  GuardedBuffer<float> forward(outputs(s)), gradient(inputs(spread));
  reference::depthwise_conv2d(forward.data(), x.data(), weight.data(), s);
  reference::depthwise_conv2d_grad_input(gradient.data(), x.data(), weight.data(), spread);
  for_each_kernels_of<float>("", [&](const cpu::Kernels<float>& kernels, int threads) {
    GuardedBuffer<float> y(outputs(s)), dx(inputs(spread));
    kernels.depthwise_conv2d(y.data(), x.data(), weight.data(), s, threads);
    kernels.depthwise_conv2d_grad_input(dx.data(), x.data(), weight.data(), spread, threads);
    expect_close(y, forward, test::sum_tolerance(9, 1));
    expect_close(dx, gradient, test::sum_tolerance(9, 1));
    EXPECT_TRUE(y.guards_intact() && dx.guards_intact());
  });
}

}  // namespace
}  // namespace epochbench
