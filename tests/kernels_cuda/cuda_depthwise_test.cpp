// Depthwise convolution in CUDA and its gradients against the reference, with and without channels that fill 16-byte packs.
#include "tests/support/cuda_kernel_test.h"

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

TEST(CudaDepthwiseConv2d, MatchesReference) {
  for (const Conv2dShape& s : kShapes)
    for_each_element(describe(s), [&](Element element) {
      const Tensor x = random_tensor(inputs(s), element, 1), weight = random_tensor(taps(s) * s.channels, element, 2);
      GuardedBuffer<float> expected(outputs(s));
      reference::depthwise_conv2d(expected.data(), x.floats().data(), weight.floats().data(), s);
      for_each_order("", [&] {
        Tensor y(outputs(s), element);
        cuda::depthwise_conv2d(y.data(), x.data(), weight.data(), s, element, kNoStream);
        expect_close(y.floats(), expected, stored(element, test::sum_tolerance(static_cast<double>(taps(s)), 1)));
        EXPECT_TRUE(y.guards_intact());
      });
    });
}

TEST(CudaDepthwiseConv2d, GradientOfTheInputMatchesReference) {
  for (const Conv2dShape& s : kShapes)
    for_each_element(describe(s), [&](Element element) {
      const Tensor dy = random_tensor(outputs(s), element, 3), weight = random_tensor(taps(s) * s.channels, element, 4);
      GuardedBuffer<float> expected(inputs(s));
      reference::depthwise_conv2d_grad_input(expected.data(), dy.floats().data(), weight.floats().data(), s);
      for_each_order("", [&] {
        Tensor dx(inputs(s), element);
        cuda::depthwise_conv2d_grad_input(dx.data(), dy.data(), weight.data(), s, element, kNoStream);
        expect_close(dx.floats(), expected, stored(element, test::sum_tolerance(static_cast<double>(taps(s)), 1)));
        EXPECT_TRUE(dx.guards_intact());
      });
    });
}

void check_grad_weight(const Conv2dShape& s, Element element) {
  const Tensor dy = random_tensor(outputs(s), element, 5), x = random_tensor(inputs(s), element, 6);
  GuardedBuffer<float> expected(taps(s) * s.channels), first(taps(s) * s.channels);
  reference::depthwise_conv2d_grad_weight(expected.data(), dy.floats().data(), x.floats().data(), s);
  const double terms = static_cast<double>(s.batch * s.out_height * s.out_width);
  for_each_order("", [&] {
    Tensor dweight(taps(s) * s.channels, element);
    DeviceBuffer<float> workspace = scratch(cuda::depthwise_conv2d_grad_weight_workspace_bytes(s));
    cuda::depthwise_conv2d_grad_weight(dweight.data(), dy.data(), x.data(), s, element, workspace.data(), kNoStream);
    expect_close(dweight.floats(), expected, stored(element, test::sum_tolerance(terms, std::sqrt(terms))));
    EXPECT_TRUE(dweight.guards_intact() && workspace.guards_intact());
    if (std::isnan(first[0])) first = dweight.floats();
    EXPECT_TRUE(bit_equal(dweight.floats(), first));
  });
}

TEST(CudaDepthwiseConv2d, GradientOfTheWeightMatchesReference) {
  for (const Conv2dShape& s : kShapes) for_each_element(describe(s), [&](Element element) { check_grad_weight(s, element); });
}

// Several blocks of pixels, and several tiles of channels.
TEST(CudaDepthwiseConv2d, GradientOfTheWeightOverManyPixelsMatchesReference) {
  check_grad_weight(test::depthwise(2, 21, 22, 70, 3, 1, 1), Element::f32);
}

}  // namespace
}  // namespace epochbench
