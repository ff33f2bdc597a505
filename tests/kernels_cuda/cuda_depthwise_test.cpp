// Depthwise convolution in CUDA and its gradients against the reference, with and without channels that fill 16-byte packs.
#include "tests/support/cuda_kernel_test.h"

namespace epochbench {
namespace {

std::int64_t taps(const Conv2dShape& s) { return s.kernel_height * s.kernel_width; }

TEST(CudaDepthwiseConv2d, MatchesReference) {
  for (const Conv2dShape& s : test::kDepthwise)
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
  for (const Conv2dShape& s : test::kDepthwise)
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
  for (const Conv2dShape& s : test::kDepthwise)
    for_each_element(describe(s), [&](Element element) { check_grad_weight(s, element); });
}

// Several blocks of pixels, and several tiles of channels.
TEST(CudaDepthwiseConv2d, GradientOfTheWeightOverManyPixelsMatchesReference) {
  check_grad_weight(test::depthwise(2, 21, 22, 70, 3, 1, 1), Element::f32);
}

// More elements than a block has threads.
TEST(CudaTranspose, MovesEveryElement) {
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {9, 40}, {40, 9}, {49, 33}, {1, 300}})
    for_each_element(std::to_string(rows) + "x" + std::to_string(columns),
                     [&, rows = rows, columns = columns](Element element) {
                       const Tensor x = random_tensor(rows * columns, element, 7);
                       for_each_order("", [&] {
                         Tensor y(rows * columns, element);
                         cuda::transpose(y.data(), x.data(), rows, columns, element, kNoStream);
                         for (std::int64_t i = 0; i < rows * columns; ++i)
                           ASSERT_EQ(y.floats()[i], x.floats()[i % rows * columns + i / rows]) << i;
                         EXPECT_TRUE(y.guards_intact());
                       });
                     });
}

}  // namespace
}  // namespace epochbench
