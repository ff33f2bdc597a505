// Channels times numbers of each image, and mixed rows, against the reference.
#include "tests/support/op_test.h"

namespace epochbench {
namespace {

struct Images {
  std::int64_t batch, pixels, channels;
  std::int64_t elements() const { return batch * pixels * channels; }
};
constexpr Images kImages[] = {{1, 1, 1},  {3, 49, 10}, {2, 64, 64},   {1, 49, 528}, {1, 49, 520},
                              {7, 5, 65}, {1, 700, 3}, {1, 20000, 3}, {2, 130, 96}, {2, 63, 264}};

std::string describe(const Images& s) { return std::to_string(s.pixels) + "x" + std::to_string(s.channels); }

TEST(Gates, ScaleOfChannelsAndItsGradientMatchReference) {
  for (const Images& s : kImages)
    for_each_op_element(describe(s), [&](Element element) {
      const Tensor x = random_tensor(s.elements(), element, 4), scale = random_tensor(s.batch * s.channels, element, 5),
                   dy = random_tensor(s.elements(), element, 6);
      GuardedBuffer<float> expected(s.elements()), expected_grad(s.batch * s.channels);
      reference::scale_channels(expected.data(), x.floats().data(), scale.floats().data(), s.batch, s.pixels, s.channels);
      reference::scale_channels_grad(expected_grad.data(), dy.floats().data(), x.floats().data(), s.batch, s.pixels,
                                     s.channels);
      const double pixels = static_cast<double>(s.pixels);
      for_each_device(element, [&](const OpDevice& k) {
        Tensor y(s.elements(), element), in_place = x, dscale(s.batch * s.channels, element);
        k.scale_channels(y.data(), x.data(), scale.data(), s.batch, s.pixels, s.channels);
        k.scale_channels(in_place.data(), in_place.data(), scale.data(), s.batch, s.pixels, s.channels);
        k.scale_channels_grad(dscale.data(), dy.data(), x.data(), s.batch, s.pixels, s.channels);
        expect_close(y.floats(), expected, stored(element, kExact));
        // Up to 64 products are added in float, a random walk.
        expect_close(dscale.floats(), expected_grad,
                     stored(element, test::sum_tolerance(pixels, std::min(std::sqrt(pixels), 8.0))));
        EXPECT_TRUE(bit_equal(in_place.floats(), y.floats()));
        EXPECT_TRUE(y.guards_intact() && in_place.guards_intact() && dscale.guards_intact());
      });
    });
}

// With and without silu after it.
TEST(Gates, GradientOfSqueezeExciteMatchesReference) {
  for (const Images& s : kImages)
    for_each_op_element(describe(s), [&](Element element) {
      const Tensor dy = random_tensor(s.elements(), element, 4), scale = random_tensor(s.batch * s.channels, element, 5),
                   dmean = random_tensor(s.batch * s.channels, element, 6), x = random_tensor(s.elements(), element, 7);
      GuardedBuffer<float> sum(s.elements()), spread(s.elements()), expected(s.elements());
      reference::scale_channels(sum.data(), dy.floats().data(), scale.floats().data(), s.batch, s.pixels, s.channels);
      reference::global_average_pool_grad(spread.data(), dmean.floats().data(), s.batch, s.pixels, s.channels);
      reference::add(sum.data(), sum.data(), spread.data(), s.elements());
      reference::silu_grad(expected.data(), sum.data(), x.floats().data(), s.elements());
      for_each_device(element, [&](const OpDevice& k) {
        const auto run = [&](Tensor& dx, const void* from_dy, const void* from_x) {
          k.squeeze_excite_grad(dx.data(), from_dy, scale.data(), dmean.data(), from_x, s.batch, s.pixels, s.channels);
          EXPECT_TRUE(dx.guards_intact());
        };
        Tensor plain(s.elements(), element), dx(s.elements(), element), over_dy = dy, over_x = x;
        run(plain, dy.data(), nullptr);
        run(dx, dy.data(), x.data());
        run(over_dy, over_dy.data(), x.data());
        run(over_x, dy.data(), over_x.data());
        expect_close(plain.floats(), sum, stored(element, {3 * kEps, 3 * kEps}));
        Tolerance gradient = stored(element, {12 * kEps, 12 * kEps});
        gradient.relative += k.exponential_error;
        gradient.absolute += k.exponential_error;
        expect_close(dx.floats(), expected, gradient);
        EXPECT_TRUE(bit_equal(over_dy.floats(), dx.floats()) && bit_equal(over_x.floats(), dx.floats()));
      });
    });
}

// Pairs of rows, the last of an odd number by itself; a share of 1 and of 0.
TEST(Gates, MixedRowsMatchReference) {
  for (const auto& [rows, n] :
       {std::pair<std::int64_t, std::int64_t>{1, 1}, {2, 3}, {3, 17}, {5, 4099}, {5, 4104}, {8, 784}, {64, 33}})
    for_each_op_element(std::to_string(rows) + "x" + std::to_string(n), [&, rows = rows, n = n](Element element) {
      const Tensor x = random_tensor(rows * n, element, 9);
      DeviceBuffer<float> share = random_device_floats(rows, 10, 0, 1);
      share[0] = 1;
      share[rows - 1] = 0;
      GuardedBuffer<float> expected(rows * n);
      reference::mix_rows(expected.data(), x.floats().data(), share.data(), rows, n);
      for_each_device(element, [&](const OpDevice& k) {
        Tensor y(rows * n, element);
        k.mix_rows(y.data(), x.data(), share.data(), rows, n);
        // The difference of two numbers below 1 and its product are rounded, and the sum.
        expect_close(y.floats(), expected, stored(element, {0, 5 * kEps}));
        EXPECT_TRUE(y.guards_intact());
      });
    });
}

}  // namespace
}  // namespace epochbench
