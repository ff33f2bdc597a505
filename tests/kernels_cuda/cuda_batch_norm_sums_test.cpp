// Batch normalization in CUDA from sums that a convolution brings along, and of very many rows, against the reference. The rest
// is in tests/kernels/batch_norm_test.cpp.
#include <algorithm>
#include <cmath>
#include <optional>

#include "tests/support/cuda_kernel_test.h"

namespace epochbench {
namespace {

constexpr double kEpsilon = 1e-5, kMomentum = 0.1;
constexpr Matrix kMatrices[] = {{2, 3}, {3, 17}, {130, 1}, {70, 64}, {150, 24}, {5, 300}, {90, 136}};

DeviceBuffer<float> workspace_of(const Matrix& m) { return scratch(cuda::reduction_workspace_bytes(m.rows, m.channels)); }

// Sums over rows of a[i] * b(i) for each channel, as a convolution that adds in float without a rounding would give them.
template <typename Second>
void sum_rows(float* to, const Matrix& m, const GuardedBuffer<float>& a, Second b) {
  for (std::int64_t c = 0; c < m.channels; ++c) {
    double sum = 0;
    for (std::int64_t i = c; i < m.elements(); i += m.channels) sum += static_cast<double>(a[i]) * b(i);
    to[c] = static_cast<float>(sum);
  }
}

struct Options {
  bool shortcut = false, relu = false;
};

void check_training(const Matrix& m, Options options, Element element, float mean_of_x = 0) {
  GuardedBuffer<float> values = random_floats(m.elements(), 16);
  for (float& value : values) value += mean_of_x;
  const Tensor x(values, element), shortcut = random_tensor(m.elements(), element, 15);
  const GuardedBuffer<float> of_x = x.floats(), added = shortcut.floats();
  const DeviceBuffer<float> scale = random_device_floats(m.channels, 13, 0.5, 2), bias = random_device_floats(m.channels, 14);
  DeviceBuffer<float> pivot = random_device_floats(m.channels, 11, mean_of_x - 0.2, mean_of_x + 0.2);
  const DeviceBuffer<float> variance = random_device_floats(m.channels, 12, 0.5, 2);

  GuardedBuffer<float> expected(m.elements()), mean(m.channels), inv_std(m.channels), running_mean(m.channels),
      running_variance(m.channels);
  std::copy(pivot.begin(), pivot.end(), running_mean.begin());
  std::copy(variance.begin(), variance.end(), running_variance.begin());
  reference::batch_norm(expected.data(), mean.data(), inv_std.data(), running_mean.data(), running_variance.data(), of_x.data(),
                        scale.data(), bias.data(), options.shortcut ? added.data() : nullptr, m.rows, m.channels, kEpsilon,
                        kMomentum, options.relu);
  DeviceBuffer<float> sums(2 * m.channels);
  GuardedBuffer<float> deviations(m.elements());
  for (std::int64_t i = 0; i < m.elements(); ++i) deviations[i] = of_x[i] - pivot[i % m.channels];
  sum_rows(sums.data(), m, deviations, [](std::int64_t) { return 1.0; });
  sum_rows(sums.data() + m.channels, m, deviations, [&](std::int64_t i) { return deviations[i]; });
  // Squares about the pivot are so many times those about the mean.
  double excess = 1;
  for (std::int64_t c = 0; c < m.channels; ++c)
    excess = std::max(excess, 1 + std::pow((mean[c] - pivot[c]) * static_cast<double>(inv_std[c]), 2));
  const double roundings = 16 * excess;

  std::optional<GuardedBuffer<float>> first;
  for_each_order(describe(m), [&] {
    DeviceBuffer<float> workspace = workspace_of(m), s_mean(m.channels), s_inv_std(m.channels), s_running_mean(m.channels),
                        s_running_variance(m.channels);
    DeviceBuffer<std::uint32_t> mask(static_cast<std::int64_t>(cuda::mask_bytes(m.elements()) / 4));
    std::copy(pivot.begin(), pivot.end(), s_running_mean.begin());
    std::copy(variance.begin(), variance.end(), s_running_variance.begin());
    workspace.poison();
    Tensor y(m.elements(), element);
    cuda::batch_norm_of_sums(y.data(), options.relu ? mask.data() : nullptr, s_mean.data(), s_inv_std.data(),
                             s_running_mean.data(), s_running_variance.data(), x.data(), sums.data(), scale.data(), bias.data(),
                             options.shortcut ? shortcut.data() : nullptr, m.rows, m.channels, kEpsilon, kMomentum,
                             options.relu, element, workspace.data(), kNoStream);
    const GuardedBuffer<float> result = y.floats();
    const double size = std::fabs(mean_of_x) + 1;
    expect_close(s_mean, mean, {4 * kEps, 4 * kEps * size});
    expect_close(s_inv_std, inv_std, {roundings * kEps, 0});
    expect_close(s_running_mean, running_mean, {4 * kEps, 4 * kEps * size});
    expect_close(s_running_variance, running_variance, {roundings * kEps, 0});
    expect_close(result, expected, stored(element, {0, roundings * kEps * (max_abs(expected) + 2)}));
    for (std::int64_t i = 0; options.relu && i < m.elements(); ++i)
      ASSERT_EQ((mask[i / 32] >> i % 32 & 1) != 0, result[i] > 0) << i;
    EXPECT_TRUE(y.guards_intact() && mask.guards_intact() && workspace.guards_intact() && s_mean.guards_intact() &&
                s_inv_std.guards_intact() && s_running_mean.guards_intact() && s_running_variance.guards_intact());
    if (!first) first = result;
    EXPECT_TRUE(bit_equal(*first, result));
  });
}

TEST(CudaBatchNormOfSums, MatchesReference) {
  for (const Matrix& m : kMatrices)
    for (Options options : {Options{}, Options{true, false}, Options{false, true}, Options{true, true}})
      for_each_element("", [&](Element element) { check_training(m, options, element); });
}

// Sums about the running mean: a mean that is large beside the deviation costs no accuracy.
TEST(CudaBatchNormOfSums, OfALargeMeanMatchReference) { check_training({900, 24}, {}, Element::f32, 1000); }

TEST(CudaBatchNormOfSums, GradientMatchesReference) {
  for (const Matrix& m : kMatrices)
    for_each_element("", [&](Element element) {
      const Tensor x = random_tensor(m.elements(), element, 30), dz = random_tensor(m.elements(), element, 27);
      const GuardedBuffer<float> of_x = x.floats(), of_dz = dz.floats();
      const DeviceBuffer<float> scale = random_device_floats(m.channels, 13, 0.5, 2);
      DeviceBuffer<float> mean(m.channels), inv_std(m.channels), sums(2 * m.channels);
      GuardedBuffer<float> unused(m.elements()), zero(m.channels), expected(m.elements()), dscale(m.channels),
          dbias(m.channels);
      std::fill(zero.begin(), zero.end(), 0.0f);
      reference::batch_norm(unused.data(), mean.data(), inv_std.data(), nullptr, nullptr, of_x.data(), scale.data(),
                            zero.data(), nullptr, m.rows, m.channels, kEpsilon, kMomentum, false);
      reference::batch_norm_grad(expected.data(), dscale.data(), dbias.data(), nullptr, of_dz.data(), nullptr, of_x.data(),
                                 scale.data(), mean.data(), inv_std.data(), m.rows, m.channels);
      sum_rows(sums.data(), m, of_dz, [](std::int64_t) { return 1.0; });
      sum_rows(sums.data() + m.channels, m, of_dz,
               [&](std::int64_t i) { return static_cast<double>(of_x[i]) - mean[i % m.channels]; });
      double largest = 1, slope = 0;
      for (std::int64_t i = 0; i < m.elements(); ++i) {
        const std::int64_t c = i % m.channels;
        largest = std::max(largest, std::fabs((static_cast<double>(of_x[i]) - mean[c]) * inv_std[c]));
        slope = std::max(slope, static_cast<double>(scale[c]) * inv_std[c]);
      }
      const auto rows = static_cast<double>(m.rows);
      for_each_order(describe(m), [&] {
        Tensor dx(m.elements(), element), over_dz = dz;
        for (auto [to, from] : {std::pair<Tensor*, const Tensor*>{&dx, &dz}, {&over_dz, &over_dz}}) {
          DeviceBuffer<float> workspace = workspace_of(m), to_scale(m.channels), to_bias(m.channels);
          workspace.poison();
          cuda::batch_norm_grad_of_sums(to->data(), to_scale.data(), to_bias.data(), from->data(), x.data(), sums.data(),
                                        scale.data(), mean.data(), inv_std.data(), m.rows, m.channels, element,
                                        workspace.data(), kNoStream);
          expect_close(to_bias, dbias, test::sum_tolerance(rows, 1));
          expect_close(to_scale, dscale, test::sum_tolerance(rows, largest));
          expect_close(to->floats(), expected, stored(element, {0, 32 * kEps * slope * (1 + largest * largest)}));
          EXPECT_TRUE(to->guards_intact() && to_scale.guards_intact() && to_bias.guards_intact() && workspace.guards_intact());
        }
        EXPECT_TRUE(bit_equal(dx.floats(), over_dz.floats()));
      });
    });
}

// Enough rows that a block writes more than once; in one order only, since tests/kernels/batch_norm_test.cpp runs both kernels
// in all orders.
TEST(CudaBatchNorm, ForwardAndGradientWriteEveryRow) {
  const Matrix m = {101441, 64};
  const Tensor x = random_tensor(m.elements(), Element::f32, 37), dy = random_tensor(m.elements(), Element::f32, 38);
  const DeviceBuffer<float> scale = random_device_floats(m.channels, 13, 0.5, 2), bias = random_device_floats(m.channels, 14);
  DeviceBuffer<float> mean(m.channels), inv_std(m.channels), expected_mean(m.channels), expected_inv_std(m.channels);
  GuardedBuffer<float> expected(m.elements());
  DeviceBuffer<float> workspace = workspace_of(m);
  Tensor result(m.elements(), Element::f32);
  reference::batch_norm(expected.data(), expected_mean.data(), expected_inv_std.data(), nullptr, nullptr, x.floats().data(),
                        scale.data(), bias.data(), nullptr, m.rows, m.channels, kEpsilon, kMomentum, false);
  cuda::batch_norm(result.data(), nullptr, mean.data(), inv_std.data(), nullptr, nullptr, x.data(), scale.data(), bias.data(),
                   nullptr, m.rows, m.channels, kEpsilon, kMomentum, false, Element::f32, workspace.data(), kNoStream);
  expect_close(result.floats(), expected, {0, 16 * kEps * (max_abs(expected) + 2)});

  reference::batch_norm_grad(expected.data(), nullptr, nullptr, nullptr, dy.floats().data(), nullptr, x.floats().data(),
                             scale.data(), mean.data(), inv_std.data(), m.rows, m.channels);
  result.poison();
  cuda::batch_norm_grad(result.data(), nullptr, nullptr, nullptr, dy.data(), nullptr, nullptr, nullptr, x.data(), scale.data(),
                        mean.data(), inv_std.data(), m.rows, m.channels, Element::f32, workspace.data(), kNoStream);
  // Uniform in (-1, 1): inverse deviations are near sqrt(3), scales below 2, normalized values below 1.8.
  expect_close(result.floats(), expected, {0, 16 * kEps * 3.5 * (1 + 1.8 * 1.8)});
}

}  // namespace
}  // namespace epochbench
