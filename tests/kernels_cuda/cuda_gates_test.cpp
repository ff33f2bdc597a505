// ReLU6, sigmoid, SiLU and their gradients, channels times numbers of each image, and stochastic depth in CUDA, against the
// reference.
#include "tests/support/cuda_kernel_test.h"

namespace epochbench {
namespace {

constexpr std::int64_t kSizes[] = {1, 3, 8, 17, 1000, 4099};

void check(decltype(cuda::relu6)* kernel, decltype(reference::relu6)* oracle, double roundings) {
  for (std::int64_t n : kSizes)
    for_each_element("n=" + std::to_string(n), [&](Element element) {
      GuardedBuffer<float> values = random_floats(n, 1, -9, 9);
      for (std::int64_t i = 0; i < n; i += 7) values[i] = i % 2 == 0 ? 0.0f : kSix;
      const Tensor x(values, element);
      GuardedBuffer<float> expected(n);
      oracle(expected.data(), x.floats().data(), n);
      for_each_order("", [&] {
        Tensor y(n, element), in_place = x;
        kernel(y.data(), x.data(), n, element, kNoStream);
        kernel(in_place.data(), in_place.data(), n, element, kNoStream);
        expect_close(y.floats(), expected, stored(element, {roundings * kEps, roundings * kEps}));
        EXPECT_TRUE(bit_equal(in_place.floats(), y.floats()));
        EXPECT_TRUE(y.guards_intact() && in_place.guards_intact());
      });
    });
}

// second: what the gradient reads beside dy, between `low` and `high`.
void check_grad(decltype(cuda::relu6_grad)* kernel, decltype(reference::relu6_grad)* oracle, double low, double high,
                double roundings) {
  for (std::int64_t n : kSizes)
    for_each_element("n=" + std::to_string(n), [&](Element element) {
      GuardedBuffer<float> values = random_floats(n, 2, low, high);
      for (std::int64_t i = 0; i < n; i += 7) values[i] = static_cast<float>(i % 2 == 0 ? low : high);
      const Tensor dy = random_tensor(n, element, 3), second(values, element);
      GuardedBuffer<float> expected(n);
      oracle(expected.data(), dy.floats().data(), second.floats().data(), n);
      for_each_order("", [&] {
        Tensor dx(n, element), over_second = second;
        kernel(dx.data(), dy.data(), second.data(), n, element, kNoStream);
        kernel(over_second.data(), dy.data(), over_second.data(), n, element, kNoStream);
        expect_close(dx.floats(), expected, stored(element, {roundings * kEps, roundings * kEps}));
        EXPECT_TRUE(bit_equal(over_second.floats(), dx.floats()));
        EXPECT_TRUE(dx.guards_intact() && over_second.guards_intact());
      });
    });
}

TEST(CudaGates, Relu6MatchesReference) {
  check(cuda::relu6, reference::relu6, 0);
  check_grad(cuda::relu6_grad, reference::relu6_grad, 0, 6, 0);
}

TEST(CudaGates, SigmoidMatchesReference) {
  check(cuda::sigmoid, reference::sigmoid, 5);
  check_grad(cuda::sigmoid_grad, reference::sigmoid_grad, 0, 1, 3);
}

TEST(CudaGates, SiluMatchesReference) {
  check(cuda::silu, reference::silu, 6);
  check_grad(cuda::silu_grad, reference::silu_grad, -9, 9, 9);
}

TEST(CudaGates, KeepNan) {
  for_each_element("", [](Element element) {
    GuardedBuffer<float> values = random_floats(9, 1);
    values[4] = NAN;
    const Tensor x(values, element);
    for (auto* kernel : {cuda::relu6, cuda::sigmoid, cuda::silu}) {
      Tensor y(9, element);
      kernel(y.data(), x.data(), 9, element, kNoStream);
      for (std::int64_t i = 0; i < 9; ++i) EXPECT_EQ(std::isnan(y.floats()[i]), i == 4) << i;
    }
  });
}

struct Images {
  std::int64_t batch, pixels, channels;
  std::int64_t elements() const { return batch * pixels * channels; }
};
constexpr Images kImages[] = {{1, 1, 1}, {3, 49, 10}, {2, 64, 64}, {1, 49, 520}, {7, 5, 65}, {1, 700, 3}, {2, 63, 264}};

TEST(CudaGates, ScaleOfChannelsAndItsGradientMatchReference) {
  for (const Images& s : kImages)
    for_each_element(std::to_string(s.pixels) + "x" + std::to_string(s.channels), [&](Element element) {
      const Tensor x = random_tensor(s.elements(), element, 4), scale = random_tensor(s.batch * s.channels, element, 5),
                   dy = random_tensor(s.elements(), element, 6);
      GuardedBuffer<float> expected(s.elements()), expected_grad(s.batch * s.channels);
      reference::scale_channels(expected.data(), x.floats().data(), scale.floats().data(), s.batch, s.pixels, s.channels);
      reference::scale_channels_grad(expected_grad.data(), dy.floats().data(), x.floats().data(), s.batch, s.pixels,
                                     s.channels);
      const double pixels = static_cast<double>(s.pixels);
      for_each_order("", [&] {
        Tensor y(s.elements(), element), in_place = x, dscale(s.batch * s.channels, element);
        cuda::scale_channels(y.data(), x.data(), scale.data(), s.batch, s.pixels, s.channels, element, kNoStream);
        cuda::scale_channels(in_place.data(), in_place.data(), scale.data(), s.batch, s.pixels, s.channels, element, kNoStream);
        cuda::scale_channels_grad(dscale.data(), dy.data(), x.data(), s.batch, s.pixels, s.channels, element, kNoStream);
        expect_close(y.floats(), expected, stored(element, kExact));
        expect_close(dscale.floats(), expected_grad, stored(element, test::sum_tolerance(pixels, std::sqrt(pixels))));
        EXPECT_TRUE(bit_equal(in_place.floats(), y.floats()));
        EXPECT_TRUE(y.guards_intact() && dscale.guards_intact());
      });
    });
}

TEST(CudaGates, GradientOfSqueezeExciteMatchesReference) {
  for (const Images& s : kImages)
    for_each_element(std::to_string(s.pixels) + "x" + std::to_string(s.channels), [&](Element element) {
      const Tensor dy = random_tensor(s.elements(), element, 4), scale = random_tensor(s.batch * s.channels, element, 5),
                   dmean = random_tensor(s.batch * s.channels, element, 6), x = random_tensor(s.elements(), element, 7);
      GuardedBuffer<float> sum(s.elements()), spread(s.elements()), expected(s.elements());
      reference::scale_channels(sum.data(), dy.floats().data(), scale.floats().data(), s.batch, s.pixels, s.channels);
      reference::global_average_pool_grad(spread.data(), dmean.floats().data(), s.batch, s.pixels, s.channels);
      reference::add(sum.data(), sum.data(), spread.data(), s.elements());
      reference::silu_grad(expected.data(), sum.data(), x.floats().data(), s.elements());
      for_each_order("", [&] {
        const auto run = [&](Tensor& dx, const void* of_dy, const void* of_x) {
          cuda::squeeze_excite_grad(dx.data(), of_dy, scale.data(), dmean.data(), of_x, s.batch, s.pixels, s.channels, element,
                                    kNoStream);
          EXPECT_TRUE(dx.guards_intact());
        };
        Tensor plain(s.elements(), element), dx(s.elements(), element), over_dy = dy;
        run(plain, dy.data(), nullptr);
        run(dx, dy.data(), x.data());
        run(over_dy, over_dy.data(), x.data());
        expect_close(plain.floats(), sum, stored(element, {3 * kEps, 3 * kEps}));
        expect_close(dx.floats(), expected, stored(element, {12 * kEps, 12 * kEps}));
        EXPECT_TRUE(bit_equal(over_dy.floats(), dx.floats()));
      });
    });
}

// Pairs of rows, the last of an odd number by itself; a share of 1 and of 0.
TEST(CudaGates, MixedRowsMatchReference) {
  for (const auto& [rows, n] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {2, 3}, {3, 17}, {5, 4104}, {8, 784}, {64, 33}})
    for_each_element(std::to_string(rows) + "x" + std::to_string(n), [&, rows = rows, n = n](Element element) {
      const Tensor x = random_tensor(rows * n, element, 9);
      const GuardedBuffer<float> values = random_floats(rows, 10, 0, 1);
      DeviceBuffer<float> share(rows);
      for (std::int64_t r = 0; r < rows; ++r) share[r] = values[r];
      share[0] = 1;
      share[rows - 1] = 0;
      GuardedBuffer<float> expected(rows * n);
      reference::mix_rows(expected.data(), x.floats().data(), share.data(), rows, n);
      for_each_order("", [&] {
        Tensor y(rows * n, element);
        cuda::mix_rows(y.data(), x.data(), share.data(), rows, n, element, kNoStream);
        expect_close(y.floats(), expected, stored(element, {0, 5 * kEps}));
        EXPECT_TRUE(y.guards_intact());
      });
    });
}

// Samples of a length that packs of elements divide, and others.
TEST(CudaGates, StochasticDepthMatchesReference) {
  const Dropout dropout{7, 3, 0x60000000u, 1.6f};
  const DeviceBuffer<std::int32_t> step = on_device<std::int32_t>(std::vector<std::int32_t>{5});
  for (const auto& [batch, n] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {9, 17}, {5, 4100}, {16, 64}, {40, 3}})
    for_each_element(std::to_string(n), [&, batch = batch, n = n](Element element) {
      const Tensor x = random_tensor(batch * n, element, 8);
      GuardedBuffer<float> expected(batch * n);
      reference::stochastic_depth(expected.data(), x.floats().data(), step.data(), dropout, batch, n);
      for_each_order("", [&] {
        Tensor y(batch * n, element);
        cuda::stochastic_depth(y.data(), x.data(), step.data(), dropout, batch, n, element, kNoStream);
        expect_close(y.floats(), expected, stored(element, {kEps, 0}));
        EXPECT_TRUE(y.guards_intact());
      });
    });
}

}  // namespace
}  // namespace epochbench
