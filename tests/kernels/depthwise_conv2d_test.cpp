// Depthwise convolution on the CPU and its gradients against the reference.
#include "tests/support/kernel_test.h"

namespace epochbench {
namespace {

const Conv2dShape kShapes[] = {
    test::depthwise(1, 1, 1, 1, 1, 1, 0),                  // smallest
    test::depthwise(1, 1, 1, 3, 3, 1, 1),                  // only the middle tap is inside
    test::depthwise(2, 9, 11, 33, 3, 1, 1),                // odd sizes, channels beyond a register
    test::depthwise(3, 8, 10, 32, 3, 2, 1),                // even size: no pixel below the last window
    test::depthwise(2, 9, 13, 16, 3, 2, 1),                // odd size
    test::depthwise(1, 14, 14, 40, 5, 1, 2),               // the kernels of EfficientNet
    test::depthwise(2, 15, 13, 24, 5, 2, 2),               //
    test::depthwise(2, 10, 9, 20, 7, 1, 3),                // and of NASNet
    test::depthwise(1, 12, 21, 17, 7, 2, 3),               //
    test::depthwise(1, 14, 22, 24, 7, 2, 2, 1),            // with more padding at the end
    test::depthwise(2, 12, 10, 19, 5, 2, 1, 1),            //
    test::depthwise(2, 8, 18, 16, 3, 2, 0, 1),             //
    test::depthwise(1, 6, 7, 9, 3, 1, 0, 3),               //
    test::depthwise(2, 3, 2, 8, 5, 1, 2),                  // rows shorter than the kernel
    test::depthwise(2, 6, 7, 10, 3, 1, 0),                 // without padding
    test::depthwise(1, 6, 9, 8, 3, 2, 0),                  // pixels in no window
    test::depthwise(2, 5, 6, 12, 3, 1, 2),                 // more padding than half the kernel
    test::depthwise(2, 7, 8, 9, 2, 1, 0),                  // kernels and strides without code of their own
    test::depthwise(2, 8, 11, 16, 3, 3, 1),                //
    test::depthwise(1, 5, 6, 6, 1, 2, 0),                  //
    test::convolution_shape(2, 6, 7, 14, 14, 2, 3, 2, 1),  // not square
};

std::int64_t taps(const Conv2dShape& s) { return s.kernel_height * s.kernel_width; }
std::int64_t pixels(const Conv2dShape& s) { return s.batch * s.out_height * s.out_width; }

template <typename Real>
class DepthwiseConv2d : public test::OfReal<Real> {};
TYPED_TEST_SUITE(DepthwiseConv2d, test::Reals, test::RealName);

TYPED_TEST(DepthwiseConv2d, MatchesReference) {
  using Real = TypeParam;
  for (const Conv2dShape& s : kShapes) {
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
  for (const Conv2dShape& s : kShapes) {
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
  for (const Conv2dShape& s : kShapes) check_grad_weight<TypeParam>(s);
}

// Several times the pixels that are summed in float.
TYPED_TEST(DepthwiseConv2d, GradientOfTheWeightOverManyPixelsMatchesReference) {
  check_grad_weight<TypeParam>(test::depthwise(3, 40, 41, 5, 3, 1, 1));
}

}  // namespace
}  // namespace epochbench
