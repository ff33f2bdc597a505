// Batch normalization against the reference: training, inference, gradient, the mask, and hard statistics.
#include <algorithm>

#include "tests/support/op_test.h"

namespace epochbench {
namespace {

constexpr double kEpsilon = 1e-5, kMomentum = 0.1;

// CUDA has one element per thread: 1, 3, 6, 17, 130, and 100 and 300 for 16 bits. Part of a tile: 24, 100. Several tiles: 130,
// 136, 300.
constexpr Matrix kMatrices[] = {{1, 1},   {1, 16},   {2, 3},   {3, 17},  {130, 1},  {70, 6},  {17, 64},
                                {70, 64}, {150, 24}, {9, 100}, {5, 300}, {35, 130}, {90, 136}};
constexpr Matrix kLarge[] = {{3, 16}, {257, 1}, {64, 5}, {130, 6}, {3001, 16}, {70, 256}, {67, 513}, {19, 1024}, {8192, 16}};

std::vector<Matrix> matrices() { return test::op_sizes(kMatrices, kLarge); }

bool has_masks(const OpDevice& k, const Matrix& m) { return k.mask_channels > 0 && m.channels % k.mask_channels == 0; }
DeviceBuffer<std::uint32_t> mask_for(const Matrix& m) { return DeviceBuffer<std::uint32_t>((m.elements() + 31) / 32); }

struct Parameters {
  DeviceBuffer<float> scale, bias;
  explicit Parameters(std::int64_t channels)
      : scale(random_device_floats(channels, 13, 0.5, 2)), bias(random_device_floats(channels, 14)) {}
};

struct Statistics {
  DeviceBuffer<float> mean, inv_std, running_mean, running_variance;
  explicit Statistics(std::int64_t channels)
      : mean(channels),
        inv_std(channels),
        running_mean(random_device_floats(channels, 11)),
        running_variance(random_device_floats(channels, 12, 0.5, 2)) {}
  bool guards_intact() const {
    return mean.guards_intact() && inv_std.guards_intact() && running_mean.guards_intact() && running_variance.guards_intact();
  }
};

// The errors of statistics are `roundings` roundings of the deviation, however large the mean: blocks are summed in float,
// everything above in double, so they are as few for any number of rows.
void expect_same(const Statistics& actual, const Statistics& expected, double deviation, double roundings) {
  expect_close(actual.mean, expected.mean, {kEps, 4 * kEps * deviation});
  expect_close(actual.inv_std, expected.inv_std, {roundings * kEps, 0});
  expect_close(actual.running_mean, expected.running_mean, {kEps, 4 * kEps * deviation});
  expect_close(actual.running_variance, expected.running_variance, {kEps, roundings * kEps * deviation * deviation});
  EXPECT_TRUE(actual.guards_intact());
}

struct Options {
  bool shortcut = false;
  Activation activation = Activation::none;
  bool passes(float y) const { return y > 0 && (activation.kind != Activation::relu6 || y < kSix); }
};
std::string describe(const Matrix& m, const Options& options) {
  return test::describe(m) + (options.shortcut ? " shortcut" : "") +
         (options.activation.kind != Activation::none ? " activation" : "");
}

void check_training(const Matrix& m, const Tensor& x, double deviation, const Options& options, double roundings = 16) {
  const Element element = x.element();
  Parameters p(m.channels);
  if (options.activation.kind == Activation::relu6)  // so that a part of y is above 6
    for (float& value : p.scale) value *= 5;
  const Tensor shortcut = random_tensor(m.elements(), element, 15);
  Statistics expected(m.channels);
  GuardedBuffer<float> expected_y(m.elements());
  const GuardedBuffer<float> added = shortcut.floats();
  reference::batch_norm(expected_y.data(), expected.mean.data(), expected.inv_std.data(), expected.running_mean.data(),
                        expected.running_variance.data(), x.floats().data(), p.scale.data(), p.bias.data(),
                        options.shortcut ? added.data() : nullptr, m.rows, m.channels, kEpsilon, kMomentum, options.activation);
  SameBits same(true);
  for_each_device(element, [&](const OpDevice& k) {
    const auto run = [&](Statistics& s, Tensor& y, std::uint32_t* to_mask, const Tensor& from, const Tensor& from_shortcut) {
      k.batch_norm(y.data(), to_mask, s.mean.data(), s.inv_std.data(), s.running_mean.data(), s.running_variance.data(),
                   from.data(), p.scale.data(), p.bias.data(), options.shortcut ? from_shortcut.data() : nullptr, m.rows,
                   m.channels, kEpsilon, kMomentum, options.activation);
      EXPECT_TRUE(y.guards_intact());
    };
    Statistics s(m.channels), again(m.channels), other(m.channels);
    Tensor y(m.elements(), element), over_x = x, over_shortcut = shortcut, masked(m.elements(), element);
    run(s, y, nullptr, x, shortcut);
    const GuardedBuffer<float> result = y.floats();
    expect_same(s, expected, deviation, roundings);
    expect_close(result, expected_y, stored(element, {0, roundings * kEps * (max_abs(expected_y) + 2)}));
    same.expect(k, result);
    run(again, over_x, nullptr, over_x, shortcut);
    EXPECT_TRUE(bit_equal(over_x.floats(), result) && bit_equal(again.running_variance, s.running_variance));
    if (options.shortcut) {
      run(other, over_shortcut, nullptr, x, over_shortcut);
      EXPECT_TRUE(bit_equal(over_shortcut.floats(), result));
    }
    if (options.activation.kind == Activation::none || !has_masks(k, m)) return;
    DeviceBuffer<std::uint32_t> mask = mask_for(m);
    run(other, masked, mask.data(), x, shortcut);
    EXPECT_TRUE(bit_equal(masked.floats(), result));
    for (std::int64_t i = 0; i < m.elements(); ++i)
      ASSERT_EQ((mask[i / 32] >> i % 32 & 1) != 0, options.passes(result[i])) << i;
    EXPECT_TRUE(mask.guards_intact());
  });
}

// The CPU tries every type also with hard statistics, whose results it has at once.
template <typename Check>
void for_each_hard_element(const Matrix& m, const Check& check) {
  for_each_op_element(test::describe(m), [&](Element element) {
    if (element == Element::f32 || test::op_large()) check(element);
  });
}

TEST(BatchNorm, MatchesReference) {
  for (const Matrix& m : matrices())
    for (const Options& options : {Options{}, Options{true, false}, Options{false, true}, Options{true, true},
                                   Options{false, Activation::relu6}, Options{true, Activation::relu6}})
      for_each_op_element(describe(m, options),
                          [&](Element element) { check_training(m, random_tensor(m.elements(), element, 16), 1, options); });
}

// In CUDA, more rows than all blocks process in one pass.
TEST(BatchNorm, ManyRowsMatchReference) {
  for (const Matrix& m : {Matrix{110003, 3}, Matrix{26001, 64}})
    for_each_hard_element(m, [&](Element element) {
      check_training(m, random_tensor(m.elements(), element, 17), 1, {false, true});
    });
}

// One unit in the last place of 10,000 is a tenth of this deviation: sums of squares in float would see none at all.
TEST(BatchNorm, MeanFarAboveDeviationMatchesReference) {
  for (const Matrix& m : {Matrix{3001, 16}, Matrix{257, 1}, Matrix{70, 256}})
    for_each_hard_element(m, [&](Element element) {
      GuardedBuffer<float> x = random_floats(m.elements(), 18);
      for (float& value : x) value = 1e4f + 0.01f * value;
      check_training(m, Tensor(x, element), 0.01, {});
    });
}

// The outlier is the first row, which a shifted sum would take as its pivot. In CUDA a thread of the second case sees 20 rows
// and takes the pivot from 4 of them, so squares about the pivot are up to six times those about the mean.
TEST(BatchNorm, OutlierInAnOtherwiseConstantChannelMatchesReference) {
  for (const Matrix& m : {Matrix{30011, 3}, Matrix{901, 2049}})
    for_each_hard_element(m, [&](Element element) {
      GuardedBuffer<float> x(m.elements());
      std::fill(x.begin(), x.end(), 0.3f);
      for (std::int64_t c = 0; c < m.channels; ++c) x[c] = 1000;
      check_training(m, Tensor(x, element), 1000 / std::sqrt(static_cast<double>(m.rows)), {}, m.channels > 3 ? 96 : 16);
    });
}

TEST(BatchNorm, DriftingMeanMatchesReference) {
  const Matrix m = {20001, 6};
  for_each_hard_element(m, [&](Element element) {
    GuardedBuffer<float> x = random_floats(m.elements(), 19);
    for (std::int64_t i = 0; i < m.elements(); ++i) x[i] += static_cast<float>(i) * 1e-3f;
    check_training(m, Tensor(x, element), 35, {});
  });
}

TEST(BatchNorm, NullStatisticsAreNotWritten) {
  for (const Matrix& m : {Matrix{33, 10}, Matrix{33, 16}})
    for_each_op_element(test::describe(m), [&](Element element) {
      const Tensor x = random_tensor(m.elements(), element, 20);
      const Parameters p(m.channels);
      GuardedBuffer<float> expected(m.elements());
      reference::batch_norm(expected.data(), nullptr, nullptr, nullptr, nullptr, x.floats().data(), p.scale.data(),
                            p.bias.data(), nullptr, m.rows, m.channels, kEpsilon, kMomentum, false);
      for_each_device(element, [&](const OpDevice& k) {
        Tensor y(m.elements(), element);
        k.batch_norm(y.data(), nullptr, nullptr, nullptr, nullptr, nullptr, x.data(), p.scale.data(), p.bias.data(), nullptr,
                     m.rows, m.channels, kEpsilon, kMomentum, false);
        expect_close(y.floats(), expected, stored(element, {0, 16 * kEps * max_abs(expected)}));
      });
    });
}

TEST(BatchNorm, NanReachesItsChannelOnly) {
  for (const Matrix& m : {Matrix{500, 4}, Matrix{500, 7}})
    for_each_op_element(test::describe(m), [&](Element element) {
      GuardedBuffer<float> values = random_floats(m.elements(), 21);
      values[m.channels * 321 + 2] = NAN;
      const Tensor x(values, element);
      const Parameters p(m.channels);
      for_each_device(element, [&](const OpDevice& k) {
        Statistics s(m.channels);
        Tensor y(m.elements(), element);
        k.batch_norm(y.data(), nullptr, s.mean.data(), s.inv_std.data(), s.running_mean.data(), s.running_variance.data(),
                     x.data(), p.scale.data(), p.bias.data(), nullptr, m.rows, m.channels, kEpsilon, kMomentum, true);
        const GuardedBuffer<float> result = y.floats();
        for (std::int64_t i = 0; i < m.elements(); ++i) ASSERT_EQ(std::isnan(result[i]), i % m.channels == 2) << i;
      });
    });
}

TEST(BatchNormInference, MatchesReference) {
  for (const Matrix& m : matrices())
    for (const Options& options : {Options{}, Options{true, false}, Options{false, true}, Options{true, true},
                                   Options{false, Activation::relu6}, Options{true, Activation::relu6}})
      for_each_op_element(describe(m, options), [&](Element element) {
        const Tensor x = random_tensor(m.elements(), element, 23, -4, 4), shortcut = random_tensor(m.elements(), element, 24);
        const DeviceBuffer<float> mean = random_device_floats(m.channels, 25),
                                  variance = random_device_floats(m.channels, 26, 0.1, 3);
        const Parameters p(m.channels);
        GuardedBuffer<float> expected(m.elements());
        const GuardedBuffer<float> added = shortcut.floats();
        reference::batch_norm_inference(expected.data(), x.floats().data(), p.scale.data(), p.bias.data(), mean.data(),
                                        variance.data(), options.shortcut ? added.data() : nullptr, m.rows, m.channels,
                                        kEpsilon, options.activation);
        for_each_device(element, [&](const OpDevice& k) {
          Tensor y(m.elements(), element), in_place = x;
          for (Tensor* to : {&y, &in_place})
            k.batch_norm_inference(to->data(), to == &y ? x.data() : to->data(), p.scale.data(), p.bias.data(), mean.data(),
                                   variance.data(), options.shortcut ? shortcut.data() : nullptr, m.rows, m.channels, kEpsilon,
                                   options.activation);
          expect_close(y.floats(), expected, stored(element, {0, 4 * kEps * (max_abs(expected) + 32)}));
          EXPECT_TRUE(bit_equal(y.floats(), in_place.floats()));
          EXPECT_TRUE(y.guards_intact() && in_place.guards_intact());
        });
      });
}

struct GradientOptions {
  bool gated = false, dy2 = false, dz = false;
};
std::string describe(const Matrix& m, const GradientOptions& o) {
  return test::describe(m) + (o.gated ? " gated" : "") + (o.dy2 ? " dy2" : "") + (o.dz ? " dz" : "");
}

struct Gradients {
  Tensor dx, dz;
  DeviceBuffer<float> dscale, dbias;
  Gradients(const Matrix& m, Element element)
      : dx(m.elements(), element), dz(m.elements(), element), dscale(m.channels), dbias(m.channels) {}
  bool guards_intact() const {
    return dx.guards_intact() && dz.guards_intact() && dscale.guards_intact() && dbias.guards_intact();
  }
};

void check_gradient(const Matrix& m, const Tensor& x, const GradientOptions& options) {
  const Element element = x.element();
  const Parameters p(m.channels);
  const Tensor dy = random_tensor(m.elements(), element, 27), dy2 = random_tensor(m.elements(), element, 28);
  const Tensor y = random_tensor(m.elements(), element, 29);  // its sign says where the gradient passes
  const GuardedBuffer<float> wide_x = x.floats(), wide_y = y.floats(), wide_dy2 = dy2.floats();
  GuardedBuffer<float> incoming = dy.floats();  // rounded as the tensor that the sum stands for
  for (std::int64_t i = 0; options.dy2 && i < m.elements(); ++i)
    incoming[i] = test::rounded(incoming[i] + wide_dy2[i], element);
  DeviceBuffer<std::uint32_t> mask = mask_for(m);
  std::fill(mask.begin(), mask.end(), 0u);
  for (std::int64_t i = 0; i < m.elements(); ++i) mask[i / 32] |= (wide_y[i] > 0 ? 1u : 0u) << i % 32;
  Statistics s(m.channels);
  GuardedBuffer<float> unused(m.elements()), dx(m.elements()), dz(m.elements()), dscale(m.channels), dbias(m.channels);
  reference::batch_norm(unused.data(), s.mean.data(), s.inv_std.data(), nullptr, nullptr, wide_x.data(), p.scale.data(),
                        p.bias.data(), nullptr, m.rows, m.channels, kEpsilon, kMomentum, false);
  reference::batch_norm_grad(dx.data(), dscale.data(), dbias.data(), dz.data(), incoming.data(),
                             options.gated ? wide_y.data() : nullptr, wide_x.data(), p.scale.data(), s.mean.data(),
                             s.inv_std.data(), m.rows, m.channels);
  double largest = 1, slope = 0;  // |normalized x|
  for (std::int64_t i = 0; i < m.elements(); ++i) {
    const std::int64_t c = i % m.channels;
    largest = std::max(largest, std::fabs((static_cast<double>(wide_x[i]) - s.mean[c]) * s.inv_std[c]));
    slope = std::max(slope, static_cast<double>(p.scale[c]) * s.inv_std[c]);
  }
  const double rows = static_cast<double>(m.rows), size = max_abs(incoming);
  SameBits same(true);
  for_each_device(element, [&](const OpDevice& k) {
    Gradients g(m, element), over_x(m, element), over_dy(m, element), dz_over_dy(m, element), masked(m, element),
        without_dx(m, element), without_sums(m, element);
    const auto run = [&](Gradients& to, void* to_dx, const void* from_dy, const Tensor& from_x) {
      const bool sums = &to != &without_sums, bias = sums && &to != &without_dx, by_mask = &to == &masked;
      k.batch_norm_grad(to_dx, sums ? to.dscale.data() : nullptr, bias ? to.dbias.data() : nullptr,
                        options.dz && to_dx != nullptr ? to.dz.data() : nullptr, from_dy, options.dy2 ? dy2.data() : nullptr,
                        by_mask ? mask.data() : nullptr, options.gated && !by_mask ? y.data() : nullptr, from_x.data(),
                        p.scale.data(), s.mean.data(), s.inv_std.data(), m.rows, m.channels);
      EXPECT_TRUE(to.guards_intact());
    };
    run(g, g.dx.data(), dy.data(), x);
    expect_close(g.dbias, dbias, test::sum_tolerance(rows, size));
    expect_close(g.dscale, dscale, test::sum_tolerance(rows, size * largest));
    expect_close(g.dx.floats(), dx, stored(element, {0, 16 * kEps * size * slope * (1 + largest * largest)}));
    if (options.dz) expect_close(g.dz.floats(), dz, kExact);
    same.expect(k, g.dscale);

    const auto expect_same_gradients = [&](const Gradients& other) {
      const bool sums = &other != &without_sums;
      EXPECT_TRUE(bit_equal(other.dx.floats(), g.dx.floats()));
      EXPECT_TRUE(!options.dz || bit_equal(other.dz.floats(), g.dz.floats()));
      EXPECT_TRUE(!sums || (bit_equal(other.dscale, g.dscale) && bit_equal(other.dbias, g.dbias)));
    };
    over_x.dx = x;
    over_dy.dx = dy;
    run(over_x, over_x.dx.data(), dy.data(), over_x.dx);
    run(over_dy, over_dy.dx.data(), over_dy.dx.data(), x);
    run(without_dx, nullptr, dy.data(), x);
    run(without_sums, without_sums.dx.data(), dy.data(), x);
    for (const Gradients* other : {&over_x, &over_dy, &without_sums}) expect_same_gradients(*other);
    expect_close(without_dx.dscale, dscale, test::sum_tolerance(rows, size * largest));
    EXPECT_TRUE(options.dz || bit_equal(without_dx.dscale, g.dscale)) << "dz needs dx";
    if (options.dz) {
      dz_over_dy.dz = dy;
      run(dz_over_dy, dz_over_dy.dx.data(), dz_over_dy.dz.data(), x);
      expect_same_gradients(dz_over_dy);
    }
    if (!options.gated || !has_masks(k, m)) return;
    run(masked, masked.dx.data(), dy.data(), x);
    expect_same_gradients(masked);
  });
}

TEST(BatchNormGrad, MatchesReference) {
  for (const Matrix& m : matrices())
    for (bool gated : {false, true})
      for (bool dy2 : {false, true})
        for (bool dz : {false, true})
          for_each_op_element(describe(m, {gated, dy2, dz}), [&](Element element) {
            check_gradient(m, random_tensor(m.elements(), element, 30), {gated, dy2, dz});
          });
}

TEST(BatchNormGrad, ManyRowsMatchReference) {
  for (const Matrix& m : {Matrix{60001, 3}, Matrix{13001, 64}})
    for_each_hard_element(m, [&](Element element) {
      check_gradient(m, random_tensor(m.elements(), element, 31), {true, test::op_large(), true});
    });
}

TEST(BatchNormGrad, MeanFarAboveDeviationMatchesReference) {
  const Matrix m = {3001, 16};
  for_each_hard_element(m, [&](Element element) {
    GuardedBuffer<float> x = random_floats(m.elements(), 32);
    for (float& value : x) value = 1e4f + 0.1f * value;
    check_gradient(m, Tensor(x, element), {});
  });
}

}  // namespace
}  // namespace epochbench
