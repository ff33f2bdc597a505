// The oracle: cases computed by hand, and its gradients against central differences of its forward kernels.
#include <functional>
#include <vector>

#include "kernels/reference/kernels.h"
#include "tests/support/compare.h"

namespace epochbench {
namespace {

using test::expect_close;
using test::GuardedBuffer;
using test::kExact;
using test::random_floats;

using Values = std::vector<float>;

TEST(ReferenceGemm, WorkedOutByHand) {
  const Values a = {1, 2, 3, 4, 5, 6}, a_transposed = {1, 4, 2, 5, 3, 6};  // [2,3]
  const Values b = {1, 0, 2, 1, 0, 3}, b_transposed = {1, 2, 0, 0, 1, 3};  // [3,2]
  const Values bias = {-20, 1};
  for (bool transpose_a : {false, true})
    for (bool transpose_b : {false, true}) {
      const GemmShape shape = {2, 2, 3, transpose_a, transpose_b};
      const float *left = (transpose_a ? a_transposed : a).data(), *right = (transpose_b ? b_transposed : b).data();
      Values c(4, NAN);
      reference::gemm(c.data(), left, right, shape, {});
      expect_close(c, Values{5, 11, 14, 23}, kExact);
      reference::gemm(c.data(), left, right, shape, {bias.data(), true});
      expect_close(c, Values{0, 12, 0, 24}, kExact);
    }
}

// 2x3 image of 2 channels, one 2x2 kernel, stride 2, padding 1: each output uses one or two corners of the kernel.
TEST(ReferenceConv2d, WorkedOutByHand) {
  const Conv2dShape shape = {1, 2, 3, 2, 2, 2, 1, 2, 2, 2, 1};
  const Values x = {1, 10, 2, 20, 3, 30, 4, 40, 5, 50, 6, 60};  // [2,3,2]
  const Values weight = {1, 0, 2, 0, 3, 0, 4, 1};               // [2,2,2]
  Values y(4, NAN);
  reference::conv2d(y.data(), x.data(), weight.data(), shape, {});
  // (4 * 1 + 10), (3 * 2 + 4 * 3 + 30), (2 * 4), (1 * 5 + 2 * 6)
  expect_close(y, Values{14, 48, 8, 17}, kExact);
  const float bias = -10;
  reference::conv2d(y.data(), x.data(), weight.data(), shape, {&bias, true});
  expect_close(y, Values{4, 38, 0, 7}, kExact);
}

TEST(ReferenceBatchNorm, WorkedOutByHand) {
  const Values x = {1, 5, 3, 5}, scale = {2, 1}, bias = {10, 7};  // [2,2]: means 2 and 5, variances 1 and 0
  Values y(4, NAN), mean(2, NAN), inv_std(2, NAN), running_mean = {0, 1}, running_variance = {1, 1};
  reference::batch_norm(y.data(), mean.data(), inv_std.data(), running_mean.data(), running_variance.data(), x.data(),
                        scale.data(), bias.data(), nullptr, 2, 2, 3, 0.5, false);
  expect_close(y, Values{9, 7, 11, 7}, kExact);  // 1 / sqrt(1 + 3) = 0.5
  expect_close(mean, Values{2, 5}, kExact);
  expect_close(inv_std, Values{0.5f, 1 / std::sqrt(3.0f)}, {test::kEps, 0});
  expect_close(running_mean, Values{1, 3}, kExact);
  expect_close(running_variance, Values{1.5f, 0.5f}, kExact);  // unbiased: 2 and 0
  const Values shortcut = {-20, 1, 1, -8};
  reference::batch_norm(y.data(), nullptr, nullptr, nullptr, nullptr, x.data(), scale.data(), bias.data(), shortcut.data(), 2,
                        2, 3, 0.5, true);
  expect_close(y, Values{0, 8, 12, 0}, kExact);
}

TEST(ReferenceBatchNormInference, WorkedOutByHand) {
  const Values x = {1, 5, 3, 6}, scale = {2, 1}, bias = {10, 7}, mean = {0, 5}, variance = {1, 13}, shortcut = {0, 1, 0, -9};
  Values y(4, NAN);
  reference::batch_norm_inference(y.data(), x.data(), scale.data(), bias.data(), mean.data(), variance.data(), shortcut.data(),
                                  2, 2, 3, true);
  expect_close(y, Values{11, 8, 13, 0}, kExact);
}

TEST(ReferenceMaxPool, WorkedOutByHand) {
  const PoolShape shape = {1, 3, 3, 1, 2, 2, 3, 2, 1};
  const Values x = {-1, -2, -3, -4, -2, -6, -1, -8, -9};
  Values y(4, NAN), dx(9, NAN);
  std::vector<std::uint8_t> index(4);
  reference::max_pool(y.data(), index.data(), x.data(), shape);
  expect_close(y, Values{-1, -2, -1, -2}, kExact);
  EXPECT_EQ(index, (std::vector<std::uint8_t>{4, 3, 4, 0}));
  const Values dy = {1, 2, 4, 8};
  reference::max_pool_grad(dx.data(), dy.data(), index.data(), shape);
  expect_close(dx, Values{1, 2, 0, 0, 8, 0, 4, 0, 0}, kExact);
}

TEST(ReferenceCrossEntropy, WorkedOutByHand) {
  const Values logits = {0, 0, 0, 0, 1e4f, 0, 0, 0, 5, 6, 7, 8};  // [3,4]
  const std::int32_t labels[] = {2, 0, -1};
  Values loss(1, NAN), log_sum_exp(3, NAN), dlogits(12, NAN);
  for (bool mean : {true, false}) {
    const float log4 = std::log(4.0f), share = mean ? 0.5f : 1;
    reference::cross_entropy(loss.data(), log_sum_exp.data(), logits.data(), labels, 3, 4, mean);
    expect_close(loss, Values{log4 * share}, {test::kEps, 0});  // the second row is certain, the third is ignored
    EXPECT_FLOAT_EQ(log_sum_exp[0], log4);
    EXPECT_EQ(log_sum_exp[1], 1e4f);
    reference::cross_entropy_grad(dlogits.data(), logits.data(), labels, log_sum_exp.data(), 3, 4, mean);
    const float quarter = 0.25f * share;
    expect_close(dlogits, Values{quarter, quarter, -3 * quarter, quarter, 0, 0, 0, 0, 0, 0, 0, 0}, {0, 2 * test::kEps});
  }
}

TEST(ReferenceCountCorrect, WorkedOutByHand) {
  const Values logits = {1, 3, 3, 0, 2, NAN, 9, 1, 1};  // [3,3]
  float count = NAN;
  const auto correct = [&](std::int32_t first, std::int32_t second, std::int32_t third) {
    const std::int32_t labels[] = {first, second, third};
    reference::count_correct(&count, logits.data(), labels, 3, 3);
    return count;
  };
  EXPECT_EQ(correct(1, 1, 0), 2);  // the first of equal maxima counts; a row with a NaN does not
  EXPECT_EQ(correct(2, 1, 1), 0);  // the second of equal maxima does not
  EXPECT_EQ(correct(-1, -1, -1), 0);
  EXPECT_EQ(correct(1, -1, -5), 1);
}

TEST(ReferenceActivation, WorkedOutByHand) {
  const Values x = {-1, 2, 0, 5}, dy = {10, 20, 30, 40}, bias = {1, -1};
  Values y(4, NAN), dx(4, NAN), dbias(2, NAN);
  reference::relu(y.data(), x.data(), 4);
  expect_close(y, Values{0, 2, 0, 5}, kExact);
  reference::relu_grad(dx.data(), dy.data(), y.data(), 4);
  expect_close(dx, Values{0, 20, 0, 40}, kExact);
  reference::add(y.data(), x.data(), dy.data(), 4);
  expect_close(y, Values{9, 22, 30, 45}, kExact);
  reference::bias_add(y.data(), x.data(), bias.data(), 2, 2);
  expect_close(y, Values{0, 1, 1, 4}, kExact);
  reference::bias_add_grad(dbias.data(), dy.data(), 2, 2);
  expect_close(dbias, Values{40, 60}, kExact);
}

// The gradient of `loss` with respect to x by central differences, which err by O(step^2) and by the forward kernel's float
// rounding divided by the step.
void expect_gradient(const GuardedBuffer<float>& gradient, GuardedBuffer<float>& x, const std::function<double()>& loss) {
  constexpr float kStep = 1.0f / 256;
  GuardedBuffer<float> difference(static_cast<std::int64_t>(x.size()));
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(x.size()); ++i) {
    const float value = x[i], above = value + kStep, below = value - kStep;
    x[i] = above;
    const double high = loss();
    x[i] = below;
    const double low = loss();
    x[i] = value;
    difference[i] = static_cast<float>((high - low) / (static_cast<double>(above) - below));
  }
  expect_close(gradient, difference, {1e-3, 1e-3});
}

// A loss whose gradient with respect to y is dy.
double weighted_sum(const GuardedBuffer<float>& dy, const GuardedBuffer<float>& y) {
  double sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) sum += static_cast<double>(dy.data()[i]) * y.data()[i];
  return sum;
}

TEST(ReferenceConv2d, GradientsMatchCentralDifferences) {
  for (const Conv2dShape& s : {Conv2dShape{2, 5, 4, 3, 3, 2, 2, 3, 3, 2, 1}, Conv2dShape{1, 4, 5, 2, 3, 3, 3, 2, 3, 1, 0},
                               Conv2dShape{1, 3, 3, 1, 2, 2, 2, 1, 1, 2, 0}}) {
    GuardedBuffer<float> x = random_floats(s.batch * s.height * s.width * s.channels, 1);
    GuardedBuffer<float> weight = random_floats(s.out_channels * s.kernel_height * s.kernel_width * s.channels, 2);
    const GuardedBuffer<float> dy = random_floats(s.batch * s.out_height * s.out_width * s.out_channels, 3);
    GuardedBuffer<float> y = dy, dx = x, dweight = weight;
    const auto loss = [&] {
      reference::conv2d(y.data(), x.data(), weight.data(), s, {});
      return weighted_sum(dy, y);
    };
    reference::conv2d_grad_input(dx.data(), dy.data(), weight.data(), s);
    reference::conv2d_grad_weight(dweight.data(), dy.data(), x.data(), s);
    expect_gradient(dx, x, loss);
    expect_gradient(dweight, weight, loss);
  }
}

TEST(ReferenceBatchNorm, GradientsMatchCentralDifferences) {
  constexpr std::int64_t kRows = 7, kChannels = 3, kElements = kRows * kChannels;
  for (bool relu : {false, true}) {
    GuardedBuffer<float> x = random_floats(kElements, 4), scale = random_floats(kChannels, 5, 0.5, 2);
    GuardedBuffer<float> bias = random_floats(kChannels, 6), shortcut = random_floats(kElements, 7);
    const GuardedBuffer<float> dy = random_floats(kElements, 8);
    GuardedBuffer<float> y = dy, mean = bias, inv_std = bias, dx = dy, dz = dy, dscale = bias, dbias = bias;
    const auto forward = [&](bool with_relu) {
      reference::batch_norm(y.data(), mean.data(), inv_std.data(), nullptr, nullptr, x.data(), scale.data(), bias.data(),
                            shortcut.data(), kRows, kChannels, 1e-5, 0.1, with_relu);
    };
    forward(false);
    for (std::int64_t i = 0; i < kElements; ++i)  // at least a quarter from the kink of relu
      shortcut[i] += y[i] < 0 ? -0.25f : 0.25f;
    forward(relu);
    reference::batch_norm_grad(dx.data(), dscale.data(), dbias.data(), dz.data(), dy.data(), relu ? y.data() : nullptr,
                               x.data(), scale.data(), mean.data(), inv_std.data(), kRows, kChannels);
    const auto loss = [&] {
      forward(relu);
      return weighted_sum(dy, y);
    };
    expect_gradient(dx, x, loss);
    expect_gradient(dscale, scale, loss);
    expect_gradient(dbias, bias, loss);
    expect_gradient(dz, shortcut, loss);
  }
}

TEST(ReferenceMaxPool, GradientMatchesCentralDifferences) {
  for (const PoolShape& s : {PoolShape{2, 6, 5, 2, 3, 3, 3, 2, 1}, PoolShape{1, 4, 4, 3, 3, 3, 2, 1, 0}}) {
    const std::int64_t inputs = s.batch * s.height * s.width * s.channels;
    GuardedBuffer<float> x(inputs);
    for (std::int64_t i = 0; i < inputs; ++i) x[i] = static_cast<float>(i * 37 % 127) / 16;  // distinct by more than the step
    const GuardedBuffer<float> dy = random_floats(s.batch * s.out_height * s.out_width * s.channels, 9);
    GuardedBuffer<float> y = dy, dx = x;
    GuardedBuffer<std::uint8_t> index(static_cast<std::int64_t>(dy.size()));
    const auto loss = [&] {
      reference::max_pool(y.data(), index.data(), x.data(), s);
      return weighted_sum(dy, y);
    };
    loss();
    reference::max_pool_grad(dx.data(), dy.data(), index.data(), s);
    expect_gradient(dx, x, loss);
  }
}

TEST(ReferenceGlobalAveragePool, GradientMatchesCentralDifferences) {
  GuardedBuffer<float> x = random_floats(2 * 6 * 3, 10), dx = x;
  const GuardedBuffer<float> dy = random_floats(2 * 3, 11);
  GuardedBuffer<float> y = dy;
  reference::global_average_pool_grad(dx.data(), dy.data(), 2, 6, 3);
  expect_gradient(dx, x, [&] {
    reference::global_average_pool(y.data(), x.data(), 2, 6, 3);
    return weighted_sum(dy, y);
  });
}

TEST(ReferenceCrossEntropy, GradientMatchesCentralDifferences) {
  GuardedBuffer<float> logits = random_floats(5 * 4, 12, -2, 2), dlogits = logits, loss(1), log_sum_exp(5);
  const std::int32_t labels[] = {3, -1, 0, 1, 1};
  for (bool mean : {true, false}) {
    const auto forward = [&]() -> double {
      reference::cross_entropy(loss.data(), log_sum_exp.data(), logits.data(), labels, 5, 4, mean);
      return loss[0];
    };
    forward();
    reference::cross_entropy_grad(dlogits.data(), logits.data(), labels, log_sum_exp.data(), 5, 4, mean);
    expect_gradient(dlogits, logits, forward);
  }
}

TEST(ReferenceActivation, GradientsMatchCentralDifferences) {
  constexpr std::int64_t kRows = 4, kChannels = 3, kElements = kRows * kChannels;
  GuardedBuffer<float> x = random_floats(kElements, 13), bias = random_floats(kChannels, 14), dbias = bias, dx = x, y = x;
  for (float& value : x) value += value < 0 ? -0.1f : 0.1f;  // away from the kink
  const GuardedBuffer<float> dy = random_floats(kElements, 15);
  reference::relu(y.data(), x.data(), kElements);
  reference::relu_grad(dx.data(), dy.data(), y.data(), kElements);
  expect_gradient(dx, x, [&] {
    reference::relu(y.data(), x.data(), kElements);
    return weighted_sum(dy, y);
  });
  reference::bias_add_grad(dbias.data(), dy.data(), kRows, kChannels);
  expect_gradient(dbias, bias, [&] {
    reference::bias_add(y.data(), x.data(), bias.data(), kRows, kChannels);
    return weighted_sum(dy, y);
  });
}

}  // namespace
}  // namespace epochbench
