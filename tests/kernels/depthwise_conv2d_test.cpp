// Depthwise convolution and its gradients against the reference, with and without channels that fill 16-byte packs.
#include "tests/support/op_test.h"

namespace epochbench {
namespace {

std::int64_t taps(const Conv2dShape& s) { return s.kernel_height * s.kernel_width; }

void check_forward(const Conv2dShape& s, Element element) {
  const Tensor x = random_tensor(inputs(s), element, 1), weight = random_tensor(taps(s) * s.channels, element, 2);
  GuardedBuffer<float> expected(outputs(s));
  reference::depthwise_conv2d(expected.data(), x.floats().data(), weight.floats().data(), s);
  for_each_device(element, [&](const OpDevice& k) {
    Tensor y(outputs(s), element);
    k.depthwise_conv2d(y.data(), x.data(), weight.data(), s);
    expect_close(y.floats(), expected, stored(element, test::sum_tolerance(static_cast<double>(taps(s)), 1)));
    EXPECT_TRUE(y.guards_intact());
  });
}

void check_grad_input(const Conv2dShape& s, Element element) {
  const Tensor dy = random_tensor(outputs(s), element, 3), weight = random_tensor(taps(s) * s.channels, element, 4);
  GuardedBuffer<float> expected(inputs(s));
  reference::depthwise_conv2d_grad_input(expected.data(), dy.floats().data(), weight.floats().data(), s);
  for_each_device(element, [&](const OpDevice& k) {
    Tensor dx(inputs(s), element);
    k.depthwise_conv2d_grad_input(dx.data(), dy.data(), weight.data(), s);
    expect_close(dx.floats(), expected, stored(element, test::sum_tolerance(static_cast<double>(taps(s)), 1)));
    EXPECT_TRUE(dx.guards_intact());
  });
}

void check_grad_weight(const Conv2dShape& s, Element element) {
  const Tensor dy = random_tensor(outputs(s), element, 5), x = random_tensor(inputs(s), element, 6);
  GuardedBuffer<float> expected(taps(s) * s.channels);
  reference::depthwise_conv2d_grad_weight(expected.data(), dy.floats().data(), x.floats().data(), s);
  const double terms = static_cast<double>(s.batch * s.out_height * s.out_width);  // of a random walk
  SameBits same(true);
  for_each_device(element, [&](const OpDevice& k) {
    Tensor dweight(taps(s) * s.channels, element), again(taps(s) * s.channels, element);
    k.depthwise_conv2d_grad_weight(dweight.data(), dy.data(), x.data(), s);
    k.depthwise_conv2d_grad_weight(again.data(), dy.data(), x.data(), s);
    expect_close(dweight.floats(), expected, stored(element, test::sum_tolerance(terms, std::sqrt(std::min(terms, 400.0)))));
    EXPECT_TRUE(dweight.guards_intact());
    same.expect(k, dweight.floats());
    same.expect(k, again.floats());
  });
}

void check_each(void (*check)(const Conv2dShape&, Element)) {
  for (const Conv2dShape& s : test::kDepthwise) for_each_op_element(describe(s), [&](Element element) { check(s, element); });
}

TEST(DepthwiseConv2d, MatchesReference) { check_each(check_forward); }
TEST(DepthwiseConv2d, GradientOfTheInputMatchesReference) { check_each(check_grad_input); }
TEST(DepthwiseConv2d, GradientOfTheWeightMatchesReference) { check_each(check_grad_weight); }

// Several times the pixels that are summed in float; several blocks of pixels and several tiles of channels.
TEST(DepthwiseConv2d, GradientOfTheWeightOverManyPixelsMatchesReference) {
  for (const Conv2dShape& s : {test::depthwise(3, 40, 41, 5, 3, 1, 1), test::depthwise(2, 21, 22, 70, 3, 1, 1)})
    for_each_op_element(describe(s), [&](Element element) { check_grad_weight(s, element); });
}

}  // namespace
}  // namespace epochbench
