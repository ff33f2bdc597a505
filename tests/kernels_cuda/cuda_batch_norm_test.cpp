// Batch normalization in CUDA against the reference: training, inference, gradient, the mask, and hard statistics.
#include <optional>

#include "tests/support/cuda_kernel_test.h"

namespace epochbench {
namespace {

constexpr double kEpsilon = 1e-5, kMomentum = 0.1;

// One element per thread: 1, 3, 6, 17, 130, and 100 and 300 for 16 bits. Part of a tile: 24, 100. Several tiles: 130, 136, 300.
constexpr Matrix kMatrices[] = {{1, 1},   {1, 16},   {2, 3},   {3, 17},  {130, 1},  {70, 6},  {17, 64},
                                {70, 64}, {150, 24}, {9, 100}, {5, 300}, {35, 130}, {90, 136}};

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

DeviceBuffer<float> workspace_of(const Matrix& m) { return scratch(cuda::reduction_workspace_bytes(m.rows, m.channels)); }
DeviceBuffer<std::uint32_t> mask_of(const Matrix& m) {
  return DeviceBuffer<std::uint32_t>(static_cast<std::int64_t>(cuda::mask_bytes(m.elements()) / 4));
}
bool bit_of(const DeviceBuffer<std::uint32_t>& mask, std::int64_t i) { return (mask[i / 32] >> i % 32 & 1) != 0; }

// The errors of statistics are `roundings` roundings of the deviation, however large the mean.
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
  bool relu() const { return activation.kind != Activation::none; }
  bool passes(float y) const { return y > 0 && (activation.kind != Activation::relu6 || y < kSix); }
};
void check_training(const Matrix& m, const Tensor& x, double deviation, Options options, double roundings = 16) {
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
  std::optional<GuardedBuffer<float>> first;
  for_each_order(describe(m) + (options.shortcut ? " shortcut" : "") + (options.relu() ? " relu" : ""), [&] {
    DeviceBuffer<float> workspace = workspace_of(m);
    DeviceBuffer<std::uint32_t> mask = mask_of(m);
    const auto run = [&](Statistics& s, Tensor& y, std::uint32_t* to_mask, const Tensor& from, const Tensor& from_shortcut) {
      workspace.poison();
      cuda::batch_norm(y.data(), to_mask, s.mean.data(), s.inv_std.data(), s.running_mean.data(), s.running_variance.data(),
                       from.data(), p.scale.data(), p.bias.data(), options.shortcut ? from_shortcut.data() : nullptr, m.rows,
                       m.channels, kEpsilon, kMomentum, options.activation, element, workspace.data(), kNoStream);
    };
    Statistics s(m.channels), other(m.channels);
    Tensor y(m.elements(), element), over_x = x, over_shortcut = shortcut;
    run(s, y, options.relu() ? mask.data() : nullptr, x, shortcut);
    const GuardedBuffer<float> result = y.floats();
    expect_same(s, expected, deviation, roundings);
    expect_close(result, expected_y, stored(element, {0, roundings * kEps * (max_abs(expected_y) + 2)}));
    for (std::int64_t i = 0; options.relu() && i < m.elements(); ++i)
      ASSERT_EQ(bit_of(mask, i), options.passes(result[i])) << i;
    run(other, over_x, nullptr, over_x, shortcut);
    EXPECT_TRUE(bit_equal(over_x.floats(), result));
    if (options.shortcut) {
      run(other, over_shortcut, nullptr, x, over_shortcut);
      EXPECT_TRUE(bit_equal(over_shortcut.floats(), result));
    }
    EXPECT_TRUE(y.guards_intact() && mask.guards_intact() && workspace.guards_intact() && over_x.guards_intact());
    if (!first) first = result;
    EXPECT_TRUE(bit_equal(*first, result));
  });
}

TEST(CudaBatchNorm, MatchesReference) {
  for (const Matrix& m : kMatrices)
    for (Options options :
         {Options{}, Options{true, false}, Options{false, true}, Options{true, true}, Options{false, Activation::relu6}})
      for_each_element("", [&](Element element) { check_training(m, random_tensor(m.elements(), element, 16), 1, options); });
}

// More rows than all blocks process in one pass.
TEST(CudaBatchNorm, ManyRowsMatchReference) {
  for (const Matrix& m : {Matrix{110003, 3}, Matrix{26001, 64}})
    check_training(m, random_tensor(m.elements(), Element::f32, 17), 1, {false, true});
}

// One unit in the last place of 10,000 is a tenth of this deviation: sums of squares in float would see none at all.
TEST(CudaBatchNorm, MeanFarAboveDeviationMatchesReference) {
  for (const Matrix& m : {Matrix{3001, 16}, Matrix{257, 1}, Matrix{70, 256}}) {
    GuardedBuffer<float> x = random_floats(m.elements(), 18);
    for (float& value : x) value = 1e4f + 0.01f * value;
    check_training(m, Tensor(x, Element::f32), 0.01, {});
  }
}

// The outlier is the first row, one of those that define the pivot. In the second case a thread sees 20 rows and takes the
// pivot from 4 of them, so squares about the pivot are up to six times those about the mean.
TEST(CudaBatchNorm, OutlierInAnOtherwiseConstantChannelMatchesReference) {
  for (const Matrix& m : {Matrix{30011, 3}, Matrix{901, 2049}}) {
    GuardedBuffer<float> x(m.elements());
    std::fill(x.begin(), x.end(), 0.3f);
    for (std::int64_t c = 0; c < m.channels; ++c) x[c] = 1000;
    check_training(m, Tensor(x, Element::f32), 1000 / std::sqrt(static_cast<double>(m.rows)), {}, m.channels > 3 ? 96 : 16);
  }
}

TEST(CudaBatchNorm, DriftingMeanMatchesReference) {
  const Matrix m = {20001, 6};
  GuardedBuffer<float> x = random_floats(m.elements(), 19);
  for (std::int64_t i = 0; i < m.elements(); ++i) x[i] += static_cast<float>(i) * 1e-3f;
  check_training(m, Tensor(x, Element::f32), 35, {});
}

TEST(CudaBatchNorm, NullStatisticsAreNotWritten) {
  const Matrix m = {33, 16};
  const Tensor x = random_tensor(m.elements(), Element::bf16, 20);
  const Parameters p(m.channels);
  GuardedBuffer<float> expected(m.elements());
  reference::batch_norm(expected.data(), nullptr, nullptr, nullptr, nullptr, x.floats().data(), p.scale.data(), p.bias.data(),
                        nullptr, m.rows, m.channels, kEpsilon, kMomentum, false);
  Tensor y(m.elements(), Element::bf16);
  DeviceBuffer<float> workspace = workspace_of(m);
  cuda::batch_norm(y.data(), nullptr, nullptr, nullptr, nullptr, nullptr, x.data(), p.scale.data(), p.bias.data(), nullptr,
                   m.rows, m.channels, kEpsilon, kMomentum, false, Element::bf16, workspace.data(), kNoStream);
  expect_close(y.floats(), expected, stored(Element::bf16, {0, 16 * kEps * max_abs(expected)}));
}

TEST(CudaBatchNorm, NanReachesItsChannelOnly) {
  for (const Matrix& m : {Matrix{500, 4}, Matrix{500, 7}})
    for_each_element(describe(m), [&](Element element) {
      GuardedBuffer<float> values = random_floats(m.elements(), 21);
      values[m.channels * 321 + 2] = NAN;
      const Tensor x(values, element);
      const Parameters p(m.channels);
      Statistics s(m.channels);
      Tensor y(m.elements(), element);
      DeviceBuffer<float> workspace = workspace_of(m);
      cuda::batch_norm(y.data(), nullptr, s.mean.data(), s.inv_std.data(), s.running_mean.data(), s.running_variance.data(),
                       x.data(), p.scale.data(), p.bias.data(), nullptr, m.rows, m.channels, kEpsilon, kMomentum, true, element,
                       workspace.data(), kNoStream);
      const GuardedBuffer<float> result = y.floats();
      for (std::int64_t i = 0; i < m.elements(); ++i) ASSERT_EQ(std::isnan(result[i]), i % m.channels == 2) << i;
    });
}

TEST(CudaBatchNormInference, MatchesReference) {
  for (const Matrix& m : kMatrices)
    for (Options options : {Options{}, Options{true, false}, Options{false, true}, Options{true, true}})
      for_each_element(describe(m), [&](Element element) {
        const Tensor x = random_tensor(m.elements(), element, 23), shortcut = random_tensor(m.elements(), element, 24);
        const DeviceBuffer<float> mean = random_device_floats(m.channels, 25),
                                  variance = random_device_floats(m.channels, 26, 0.1, 3);
        const Parameters p(m.channels);
        GuardedBuffer<float> expected(m.elements());
        const GuardedBuffer<float> added = shortcut.floats();
        reference::batch_norm_inference(expected.data(), x.floats().data(), p.scale.data(), p.bias.data(), mean.data(),
                                        variance.data(), options.shortcut ? added.data() : nullptr, m.rows, m.channels,
                                        kEpsilon, options.activation);
        for_each_order("", [&] {
          Tensor y(m.elements(), element), in_place = x;
          for (auto [to, from] : {std::pair<Tensor*, const Tensor*>{&y, &x}, {&in_place, &in_place}})
            cuda::batch_norm_inference(to->data(), from->data(), p.scale.data(), p.bias.data(), mean.data(), variance.data(),
                                       options.shortcut ? shortcut.data() : nullptr, m.rows, m.channels, kEpsilon,
                                       options.activation, element, kNoStream);
          expect_close(y.floats(), expected, stored(element, {0, 4 * kEps * (max_abs(expected) + 2)}));
          EXPECT_TRUE(bit_equal(y.floats(), in_place.floats()));
          EXPECT_TRUE(y.guards_intact());
        });
      });
}

enum class Gate { none, mask, y };
struct GradientOptions {
  Gate gate = Gate::none;
  bool dy2 = false, dz = false;
};
std::string describe(const GradientOptions& o) {
  return std::string(o.gate == Gate::none   ? ""
                     : o.gate == Gate::mask ? " mask"
                                            : " y") +
         (o.dy2 ? " dy2" : "") + (o.dz ? " dz" : "");
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

void check_gradient(const Matrix& m, const Tensor& x, GradientOptions options) {
  const Element element = x.element();
  const Parameters p(m.channels);
  const Tensor dy = random_tensor(m.elements(), element, 27), dy2 = random_tensor(m.elements(), element, 28);
  const Tensor y = random_tensor(m.elements(), element, 29);  // its sign says where the gradient passes
  const GuardedBuffer<float> of_x = x.floats(), of_y = y.floats(), of_dy2 = dy2.floats();
  GuardedBuffer<float> upstream = dy.floats();
  if (options.dy2)
    for (std::int64_t i = 0; i < m.elements(); ++i) upstream[i] = test::rounded(upstream[i] + of_dy2[i], element);
  DeviceBuffer<std::uint32_t> mask = mask_of(m);
  std::fill(mask.begin(), mask.end(), 0u);
  for (std::int64_t i = 0; i < m.elements(); ++i) mask[i / 32] |= (of_y[i] > 0 ? 1u : 0u) << i % 32;
  Statistics s(m.channels);
  GuardedBuffer<float> unused(m.elements()), expected_dx(m.elements()), expected_dz(m.elements());
  GuardedBuffer<float> expected_dscale(m.channels), expected_dbias(m.channels);
  reference::batch_norm(unused.data(), s.mean.data(), s.inv_std.data(), nullptr, nullptr, of_x.data(), p.scale.data(),
                        p.bias.data(), nullptr, m.rows, m.channels, kEpsilon, kMomentum, false);
  reference::batch_norm_grad(expected_dx.data(), expected_dscale.data(), expected_dbias.data(), expected_dz.data(),
                             upstream.data(), options.gate == Gate::none ? nullptr : of_y.data(), of_x.data(), p.scale.data(),
                             s.mean.data(), s.inv_std.data(), m.rows, m.channels);
  double largest = 1, slope = 0;
  for (std::int64_t i = 0; i < m.elements(); ++i) {
    const std::int64_t c = i % m.channels;
    largest = std::max(largest, std::fabs((static_cast<double>(of_x[i]) - s.mean[c]) * s.inv_std[c]));
    slope = std::max(slope, static_cast<double>(p.scale[c]) * s.inv_std[c]);
  }
  const double rows = static_cast<double>(m.rows);
  for_each_order(describe(m) + describe(options), [&] {
    DeviceBuffer<float> workspace = workspace_of(m);
    const auto run = [&](Gradients& g, Tensor* dx, Tensor* dz, const Tensor& from_dy, const Tensor& from_x) {
      workspace.poison();
      cuda::batch_norm_grad(dx != nullptr ? dx->data() : nullptr, g.dscale.data(), g.dbias.data(),
                            dz != nullptr ? dz->data() : nullptr, from_dy.data(), options.dy2 ? dy2.data() : nullptr,
                            options.gate == Gate::mask ? mask.data() : nullptr, options.gate == Gate::y ? y.data() : nullptr,
                            from_x.data(), p.scale.data(), s.mean.data(), s.inv_std.data(), m.rows, m.channels, element,
                            workspace.data(), kNoStream);
    };
    Gradients g(m, element), over_x(m, element), over_dy(m, element), without_dx(m, element);
    Tensor* const no_tensor = nullptr;
    run(g, &g.dx, options.dz ? &g.dz : no_tensor, dy, x);
    expect_close(g.dbias, expected_dbias, test::sum_tolerance(rows, 2));  // |dy + dy2| < 2
    expect_close(g.dscale, expected_dscale, test::sum_tolerance(rows, 2 * largest));
    expect_close(g.dx.floats(), expected_dx, stored(element, {0, 32 * kEps * slope * (1 + largest * largest)}));
    if (options.dz) expect_close(g.dz.floats(), expected_dz, kExact);
    EXPECT_TRUE(g.guards_intact() && workspace.guards_intact());

    over_x.dx = x;
    over_dy.dx = dy;
    run(over_x, &over_x.dx, options.dz ? &over_x.dz : no_tensor, dy, over_x.dx);
    run(over_dy, &over_dy.dx, options.dz ? &over_dy.dz : no_tensor, over_dy.dx, x);
    run(without_dx, no_tensor, no_tensor, dy, x);
    EXPECT_TRUE(bit_equal(over_x.dx.floats(), g.dx.floats()));
    EXPECT_TRUE(bit_equal(over_dy.dx.floats(), g.dx.floats()));
    EXPECT_TRUE(bit_equal(without_dx.dscale, g.dscale) && bit_equal(without_dx.dbias, g.dbias));
    if (options.dz) {
      over_dy.dz = dy;
      run(over_dy, &over_dy.dx, &over_dy.dz, over_dy.dz, x);
      EXPECT_TRUE(bit_equal(over_dy.dx.floats(), g.dx.floats()));
      EXPECT_TRUE(bit_equal(over_dy.dz.floats(), g.dz.floats()));
    }
  });
}

TEST(CudaBatchNormGrad, MatchesReference) {
  for (const Matrix& m : kMatrices)
    for (GradientOptions options : {GradientOptions{}, GradientOptions{Gate::mask, false, false},
                                    GradientOptions{Gate::y, false, true}, GradientOptions{Gate::mask, true, true},
                                    GradientOptions{Gate::y, true, false}, GradientOptions{Gate::none, true, false}})
      for_each_element("", [&](Element element) { check_gradient(m, random_tensor(m.elements(), element, 30), options); });
}

TEST(CudaBatchNormGrad, ManyRowsMatchReference) {
  for (const Matrix& m : {Matrix{60001, 3}, Matrix{13001, 64}})
    check_gradient(m, random_tensor(m.elements(), Element::f32, 31), {Gate::mask, false, true});
}

// Enough rows that a block writes more than once; in one order only, since other tests run both kernels in all orders.
TEST(CudaBatchNorm, ForwardAndGradientWriteEveryRow) {
  const Matrix m = {101441, 64};
  const Tensor x = random_tensor(m.elements(), Element::f32, 37), dy = random_tensor(m.elements(), Element::f32, 38);
  const Parameters p(m.channels);
  Statistics s(m.channels), expected_s(m.channels);
  GuardedBuffer<float> expected(m.elements());
  DeviceBuffer<float> workspace = workspace_of(m);
  Tensor result(m.elements(), Element::f32);
  reference::batch_norm(expected.data(), expected_s.mean.data(), expected_s.inv_std.data(), nullptr, nullptr, x.floats().data(),
                        p.scale.data(), p.bias.data(), nullptr, m.rows, m.channels, kEpsilon, kMomentum, false);
  cuda::batch_norm(result.data(), nullptr, s.mean.data(), s.inv_std.data(), nullptr, nullptr, x.data(), p.scale.data(),
                   p.bias.data(), nullptr, m.rows, m.channels, kEpsilon, kMomentum, false, Element::f32, workspace.data(),
                   kNoStream);
  expect_close(result.floats(), expected, {0, 16 * kEps * (max_abs(expected) + 2)});

  reference::batch_norm_grad(expected.data(), nullptr, nullptr, nullptr, dy.floats().data(), nullptr, x.floats().data(),
                             p.scale.data(), s.mean.data(), s.inv_std.data(), m.rows, m.channels);
  result.poison();
  cuda::batch_norm_grad(result.data(), nullptr, nullptr, nullptr, dy.data(), nullptr, nullptr, nullptr, x.data(),
                        p.scale.data(), s.mean.data(), s.inv_std.data(), m.rows, m.channels, Element::f32, workspace.data(),
                        kNoStream);
  // Uniform in (-1, 1): inverse deviations are near sqrt(3), scales below 2, normalized values below 1.8.
  expect_close(result.floats(), expected, {0, 16 * kEps * 3.5 * (1 + 1.8 * 1.8)});
}

TEST(CudaBatchNormGrad, MeanFarAboveDeviationMatchesReference) {
  const Matrix m = {3001, 16};
  GuardedBuffer<float> x = random_floats(m.elements(), 32);
  for (float& value : x) value = 1e4f + 0.1f * value;
  check_gradient(m, Tensor(x, Element::f32), {});
}

TEST(CudaBatchNormGrad, NullSumsAreNotWritten) {
  const Matrix m = {33, 10};
  const Tensor x = random_tensor(m.elements(), Element::f32, 33), dy = random_tensor(m.elements(), Element::f32, 34);
  const DeviceBuffer<float> mean = random_device_floats(m.channels, 35), inv_std = random_device_floats(m.channels, 36, 0.5, 2);
  const Parameters p(m.channels);
  GuardedBuffer<float> expected(m.elements());
  reference::batch_norm_grad(expected.data(), nullptr, nullptr, nullptr, dy.floats().data(), nullptr, x.floats().data(),
                             p.scale.data(), mean.data(), inv_std.data(), m.rows, m.channels);
  Tensor dx(m.elements(), Element::f32);
  DeviceBuffer<float> workspace = workspace_of(m);
  cuda::batch_norm_grad(dx.data(), nullptr, nullptr, nullptr, dy.data(), nullptr, nullptr, nullptr, x.data(), p.scale.data(),
                        mean.data(), inv_std.data(), m.rows, m.channels, Element::f32, workspace.data(), kNoStream);
  // Scales and inverse deviations are below 2, |x - mean| too: normalized values below 4.
  expect_close(dx.floats(), expected, {0, 32 * kEps * 4 * (1 + 4 * 4)});
}

}  // namespace
}  // namespace epochbench
