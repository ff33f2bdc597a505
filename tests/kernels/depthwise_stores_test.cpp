// Depthwise convolutions whose outputs the CPU's kernels store past the caches.
#include "tests/support/kernel_test.h"

namespace epochbench {
namespace {

// Outputs that no cache holds, which are stored past them: forward, and the gradient of the input at a stride of 2.
TEST(LargeDepthwiseConv2d, MatchesReference) {
  const Conv2dShape s = test::depthwise(1, 367, 362, 64, 3, 1, 1), spread = test::depthwise(1, 367, 362, 64, 3, 2, 1);
  ASSERT_GT(inputs(s) * static_cast<std::int64_t>(sizeof(float)), std::int64_t{32} << 20);
  const GuardedBuffer<float> x = random_floats(inputs(s), 1), weight = random_floats(9 * 64, 2);
  GuardedBuffer<float> forward(outputs(s)), gradient(inputs(spread));
  reference::depthwise_conv2d(forward.data(), x.data(), weight.data(), s);
  reference::depthwise_conv2d_grad_input(gradient.data(), x.data(), weight.data(), spread);
  for_each_kernels<float>("", [&](const cpu::Kernels<float>& kernels, int threads) {
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
