// Batch normalization on the CPU against the reference: training, inference, gradient, and hard statistics.
#include "tests/support/kernel_test.h"

namespace epochbench {
namespace {

constexpr double kEpsilon = 1e-5, kMomentum = 0.1;

constexpr Matrix kMatrices[] = {{1, 1},   {1, 16},  {2, 3},     {3, 16},   {5, 300},  {257, 1},   {64, 5},
                                {130, 6}, {17, 64}, {3001, 16}, {70, 256}, {67, 513}, {19, 1024}, {8192, 16}};

std::string describe(const Matrix& m, bool shortcut, bool relu) {
  return std::to_string(m.rows) + "x" + std::to_string(m.channels) + (shortcut ? " shortcut" : "") + (relu ? " relu" : "");
}

template <typename Real>
bool has_masks(const cpu::Kernels<Real>& kernels, const Matrix& m) {
  return kernels.masks && m.channels % 16 == 0;
}
std::int64_t mask_words(const Matrix& m) { return (m.elements() + 31) / 32; }

// Where the gradient passes.
testing::AssertionResult marks(const GuardedBuffer<std::uint32_t>& mask, const GuardedBuffer<float>& y, Activation activation) {
  const float limit = activation.kind == Activation::relu6 ? kSix : INFINITY;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(y.size()); ++i)
    if ((mask[i / 32] >> (i % 32) & 1) != (y[i] > 0 && y[i] < limit)) return testing::AssertionFailure() << "at " << i;
  return testing::AssertionSuccess();
}

template <typename Real>
struct Training {  // the outputs of batch_norm
  GuardedBuffer<Real> y;
  GuardedBuffer<float> mean, inv_std, running_mean, running_variance;
  explicit Training(const Matrix& m)
      : y(m.elements()),
        mean(m.channels),
        inv_std(m.channels),
        running_mean(random_floats(m.channels, 11)),
        running_variance(random_floats(m.channels, 12, 0.5, 2)) {}
  bool guards_intact() const {
    return y.guards_intact() && mean.guards_intact() && inv_std.guards_intact() && running_mean.guards_intact() &&
           running_variance.guards_intact();
  }
};

struct Parameters {
  GuardedBuffer<float> scale, bias;
  explicit Parameters(std::int64_t channels) : scale(random_floats(channels, 13, 0.5, 2)), bias(random_floats(channels, 14)) {}
};

// Blocks are summed in float, 16 sums of 4 at most, everything above in double: the same few roundings for any number of
// rows. They are relative to the deviation, not to the mean.
template <typename Real>
void expect_same(const Training<Real>& actual, const Training<float>& expected, double deviation, double largest_addend) {
  expect_close(actual.mean, expected.mean, {kEps, 4 * kEps * deviation});
  expect_close(actual.inv_std, expected.inv_std, {16 * kEps, 0});
  expect_close(actual.running_mean, expected.running_mean, {kEps, 4 * kEps * deviation});
  expect_close(actual.running_variance, expected.running_variance, {kEps, 16 * kEps * deviation * deviation});
  expect_close(floats(actual.y), expected.y, rounded<Real>({0, 16 * kEps * (max_abs(expected.y) + largest_addend)}));
  EXPECT_TRUE(actual.guards_intact());
}

void check_training(const Matrix& m, const GuardedBuffer<float>& values, double deviation, bool with_shortcut,
                    Activation activation, double scale = 1) {
  Parameters p(m.channels);
  for (float& value : p.scale) value *= static_cast<float>(scale);
  for_each_kernels(describe(m, with_shortcut, activation.kind != Activation::none), [&](const auto& kernels, int threads) {
    using Real = RealOf<decltype(kernels)>;
    const GuardedBuffer<Real> x = reals<Real>(values), shortcut = random_reals<Real>(m.elements(), 15);
    const GuardedBuffer<float> wide_x = floats(x), wide_shortcut = floats(shortcut);
    Training<float> expected(m);
    reference::batch_norm(expected.y.data(), expected.mean.data(), expected.inv_std.data(), expected.running_mean.data(),
                          expected.running_variance.data(), wide_x.data(), p.scale.data(), p.bias.data(),
                          with_shortcut ? wide_shortcut.data() : nullptr, m.rows, m.channels, kEpsilon, kMomentum, activation);
    GuardedBuffer<float> workspace = test::reduction_workspace(kernels, m.channels, threads);
    const auto run = [&](Training<Real>& t, const Real* from, const Real* added, std::uint32_t* mask = nullptr) {
      kernels.batch_norm(t.y.data(), mask, t.mean.data(), t.inv_std.data(), t.running_mean.data(), t.running_variance.data(),
                         from, p.scale.data(), p.bias.data(), added, m.rows, m.channels, kEpsilon, kMomentum, activation,
                         workspace.data(), threads);
    };
    const Real* const added = with_shortcut ? shortcut.data() : nullptr;
    Training<Real> apart(m), over_x(m), over_shortcut(m), masked(m);
    run(apart, x.data(), added);
    expect_same(apart, expected, deviation, 2);
    over_x.y = x;
    run(over_x, over_x.y.data(), added);
    EXPECT_TRUE(test::bit_equal(over_x.y, apart.y));
    if (with_shortcut) {
      over_shortcut.y = shortcut;
      run(over_shortcut, x.data(), over_shortcut.y.data());
      EXPECT_TRUE(test::bit_equal(over_shortcut.y, apart.y));
    }
    if (activation.kind != Activation::none && has_masks(kernels, m)) {
      GuardedBuffer<std::uint32_t> mask(mask_words(m));
      run(masked, x.data(), added, mask.data());
      EXPECT_TRUE(test::bit_equal(masked.y, apart.y));
      EXPECT_TRUE(marks(mask, floats(apart.y), activation));
      EXPECT_TRUE(mask.guards_intact());
    }
    EXPECT_TRUE(workspace.guards_intact());
  });
}

TEST(BatchNorm, MatchesReference) {
  for (const Matrix& m : kMatrices)
    for (bool shortcut : {false, true})
      for (bool relu : {false, true}) check_training(m, random_floats(m.elements(), 16), 1, shortcut, relu);
}

// Scales by which a part of y is above 6.
TEST(BatchNorm, WithRelu6MatchesReference) {
  for (const Matrix& m : kMatrices)
    for (bool shortcut : {false, true}) check_training(m, random_floats(m.elements(), 16), 1, shortcut, Activation::relu6, 5);
}

TEST(BatchNorm, ManyRowsMatchReference) { check_training({200003, 3}, random_floats(600009, 17), 1, false, true); }

// One unit in the last place of 10,000 is a tenth of this deviation: sums of squares in float would see none at all.
TEST(BatchNorm, MeanFarAboveDeviationMatchesReference) {
  for (const Matrix& m : {Matrix{3001, 16}, Matrix{257, 1}, Matrix{70, 256}}) {
    GuardedBuffer<float> x = random_floats(m.elements(), 18);
    for (float& value : x) value = 1e4f + 0.01f * value;
    check_training(m, x, 0.01, false, false);
  }
}

// The outlier is the first row, which a shifted sum would take as its pivot.
TEST(BatchNorm, OutlierInAnOtherwiseConstantChannelMatchesReference) {
  const Matrix m = {30011, 3};
  GuardedBuffer<float> x(m.elements());
  std::fill(x.begin(), x.end(), 0.3f);
  for (std::int64_t c = 0; c < 3; ++c) x[c] = 1000;
  check_training(m, x, 1000 / std::sqrt(30011.0), false, false);
}

TEST(BatchNorm, DriftingMeanMatchesReference) {
  const Matrix m = {20001, 6};
  GuardedBuffer<float> x = random_floats(m.elements(), 19);
  for (std::int64_t i = 0; i < m.elements(); ++i) x[i] += static_cast<float>(i) * 1e-3f;
  check_training(m, x, 35, false, false);
}

TEST(BatchNorm, NullStatisticsAreNotWritten) {
  const Matrix m = {33, 10};
  const Parameters p(m.channels);
  for_each_kernels("", [&](const auto& kernels, int threads) {
    using Real = RealOf<decltype(kernels)>;
    const GuardedBuffer<Real> x = random_reals<Real>(m.elements(), 20);
    GuardedBuffer<float> expected(m.elements()), workspace = test::reduction_workspace(kernels, m.channels, threads);
    reference::batch_norm(expected.data(), nullptr, nullptr, nullptr, nullptr, floats(x).data(), p.scale.data(), p.bias.data(),
                          nullptr, m.rows, m.channels, kEpsilon, kMomentum, false);
    GuardedBuffer<Real> y(m.elements());
    kernels.batch_norm(y.data(), nullptr, nullptr, nullptr, nullptr, nullptr, x.data(), p.scale.data(), p.bias.data(), nullptr,
                       m.rows, m.channels, kEpsilon, kMomentum, false, workspace.data(), threads);
    expect_close(floats(y), expected, rounded<Real>({0, 16 * kEps * max_abs(expected)}));
  });
}

TEST(BatchNorm, NanReachesItsChannelOnly) {
  const Matrix m = {500, 4};
  GuardedBuffer<float> values = random_floats(m.elements(), 21);
  values[4 * 321 + 2] = NAN;
  const Parameters p(m.channels);
  for_each_kernels("", [&](const auto& kernels, int threads) {
    using Real = RealOf<decltype(kernels)>;
    const GuardedBuffer<Real> x = reals<Real>(values);
    Training<Real> t(m);
    GuardedBuffer<float> workspace = test::reduction_workspace(kernels, m.channels, threads);
    kernels.batch_norm(t.y.data(), nullptr, t.mean.data(), t.inv_std.data(), t.running_mean.data(), t.running_variance.data(),
                       x.data(), p.scale.data(), p.bias.data(), nullptr, m.rows, m.channels, kEpsilon, kMomentum, true,
                       workspace.data(), threads);
    const GuardedBuffer<float> y = floats(t.y);
    for (std::int64_t i = 0; i < m.elements(); ++i) ASSERT_EQ(std::isnan(y[i]), i % 4 == 2) << i;
  });
}

TEST(BatchNorm, IsBitEqualForEqualThreads) {
  const Matrix m = {9001, 16};
  const Parameters p(m.channels);
  for_each_kernels("", [&](const auto& kernels, int threads) {
    using Real = RealOf<decltype(kernels)>;
    const GuardedBuffer<Real> x = random_reals<Real>(m.elements(), 22);
    GuardedBuffer<float> workspace = test::reduction_workspace(kernels, m.channels, threads);
    Training<Real> first(m), again(m);
    for (Training<Real>* t : {&first, &again})
      kernels.batch_norm(t->y.data(), nullptr, t->mean.data(), t->inv_std.data(), t->running_mean.data(),
                         t->running_variance.data(), x.data(), p.scale.data(), p.bias.data(), nullptr, m.rows, m.channels,
                         kEpsilon, kMomentum, false, workspace.data(), threads);
    EXPECT_TRUE(test::bit_equal(first.y, again.y));
    EXPECT_TRUE(test::bit_equal(first.running_variance, again.running_variance));
  });
}

TEST(BatchNormInference, MatchesReference) {
  for (const Matrix& m : kMatrices)
    for (bool with_shortcut : {false, true})
      for (Activation relu : {Activation::none, Activation::relu, Activation::relu6}) {
        const GuardedBuffer<float> mean = random_floats(m.channels, 25), variance = random_floats(m.channels, 26, 0.1, 3);
        const Parameters p(m.channels);
        for_each_kernels(describe(m, with_shortcut, relu.kind != Activation::none), [&](const auto& kernels, int threads) {
          using Real = RealOf<decltype(kernels)>;
          const GuardedBuffer<Real> x = random_reals<Real>(m.elements(), 23, -4, 4);
          const GuardedBuffer<Real> shortcut = random_reals<Real>(m.elements(), 24);
          const GuardedBuffer<float> wide_shortcut = floats(shortcut);
          GuardedBuffer<float> expected(m.elements());
          reference::batch_norm_inference(expected.data(), floats(x).data(), p.scale.data(), p.bias.data(), mean.data(),
                                          variance.data(), with_shortcut ? wide_shortcut.data() : nullptr, m.rows, m.channels,
                                          kEpsilon, relu);
          const Real* added = with_shortcut ? shortcut.data() : nullptr;
          GuardedBuffer<Real> y(m.elements()), in_place = x;
          GuardedBuffer<float> workspace = test::reduction_workspace(kernels, m.channels, threads);
          const auto run = [&](Real* to, const Real* from) {
            kernels.batch_norm_inference(to, from, p.scale.data(), p.bias.data(), mean.data(), variance.data(), added, m.rows,
                                         m.channels, kEpsilon, relu, workspace.data(), threads);
          };
          run(y.data(), x.data());
          run(in_place.data(), in_place.data());
          expect_close(floats(y), expected, rounded<Real>({0, 4 * kEps * (max_abs(expected) + 32)}));
          EXPECT_TRUE(test::bit_equal(y, in_place));
          EXPECT_TRUE(y.guards_intact());
          EXPECT_TRUE(workspace.guards_intact());
        });
      }
}

template <typename Real>
struct Gradients {
  GuardedBuffer<Real> dx, dz;
  GuardedBuffer<float> dscale, dbias;
  explicit Gradients(const Matrix& m) : dx(m.elements()), dz(m.elements()), dscale(m.channels), dbias(m.channels) {}
};

struct Variant {  // variant of the gradient
  bool relu, second, with_dz;
};
std::string describe(const Matrix& m, const Variant& v) {
  return describe(m, false, v.relu) + (v.second ? " second" : "") + (v.with_dz ? " dz" : "");
}

// Sums over n rows of products up to `largest`, the largest |dy * normalized x|.
template <typename Real>
void check_gradient(const Matrix& m, const GuardedBuffer<Real>& x, const Variant& v, const cpu::Kernels<Real>& kernels,
                    int threads) {
  const Parameters p(m.channels);
  const GuardedBuffer<Real> dy = random_reals<Real>(m.elements(), 27), dy2 = random_reals<Real>(m.elements(), 28);
  const GuardedBuffer<float> wide_x = floats(x), wide_dy2 = floats(dy2);
  Training<float> t(m);
  reference::batch_norm(t.y.data(), t.mean.data(), t.inv_std.data(), nullptr, nullptr, wide_x.data(), p.scale.data(),
                        p.bias.data(), nullptr, m.rows, m.channels, kEpsilon, kMomentum, v.relu);
  const GuardedBuffer<Real> y = reals<Real>(t.y);
  GuardedBuffer<std::uint32_t> mask(mask_words(m));
  std::fill(mask.begin(), mask.end(), 0);
  for (std::int64_t i = 0; i < m.elements(); ++i) mask[i / 32] |= std::uint32_t{t.y[i] > 0} << (i % 32);
  GuardedBuffer<float> incoming = floats(dy);  // rounded as the tensor that the sum stands for
  if (v.second) {
    for (std::int64_t i = 0; i < m.elements(); ++i) incoming[i] += wide_dy2[i];
    incoming = floats(reals<Real>(incoming));
  }
  Gradients<float> expected(m);
  reference::batch_norm_grad(expected.dx.data(), expected.dscale.data(), expected.dbias.data(), expected.dz.data(),
                             incoming.data(), v.relu ? t.y.data() : nullptr, wide_x.data(), p.scale.data(), t.mean.data(),
                             t.inv_std.data(), m.rows, m.channels);
  double largest = 1, slope = 0;
  for (std::int64_t i = 0; i < m.elements(); ++i) {
    const std::int64_t c = i % m.channels;
    largest = std::max(largest, std::fabs((static_cast<double>(wide_x[i]) - t.mean[c]) * t.inv_std[c]));
    slope = std::max(slope, static_cast<double>(p.scale[c]) * t.inv_std[c]);
  }
  const double rows = static_cast<double>(m.rows), size = max_abs(incoming);
  GuardedBuffer<float> workspace = test::reduction_workspace(kernels, m.channels, threads);
  const auto run = [&](Gradients<Real>& g, Real* dz, const Real* from_dy, const Real* from_x, bool by_mask = false) {
    kernels.batch_norm_grad(g.dx.data(), g.dscale.data(), g.dbias.data(), dz, from_dy, v.second ? dy2.data() : nullptr,
                            by_mask ? mask.data() : nullptr, v.relu && !by_mask ? y.data() : nullptr, from_x, p.scale.data(),
                            t.mean.data(), t.inv_std.data(), m.rows, m.channels, workspace.data(), threads);
  };
  const auto expect_equal = [&](const Gradients<Real>& a, const Gradients<Real>& b) {
    EXPECT_TRUE(test::bit_equal(a.dx, b.dx) && test::bit_equal(a.dscale, b.dscale) && test::bit_equal(a.dbias, b.dbias));
    EXPECT_TRUE(!v.with_dz || test::bit_equal(a.dz, b.dz));
  };
  Gradients<Real> g(m), over_dy(m), over_x(m), all_over_dy(m), masked(m);
  run(g, v.with_dz ? g.dz.data() : nullptr, dy.data(), x.data());
  expect_close(g.dbias, expected.dbias, test::sum_tolerance(rows, size));
  expect_close(g.dscale, expected.dscale, test::sum_tolerance(rows, size * largest));
  expect_close(floats(g.dx), expected.dx, rounded<Real>({0, 16 * kEps * size * slope * (1 + largest * largest)}));
  if (v.with_dz) expect_close(floats(g.dz), expected.dz, kExact);
  EXPECT_TRUE(g.dx.guards_intact() && g.dscale.guards_intact() && g.dbias.guards_intact() && g.dz.guards_intact());
  EXPECT_TRUE(workspace.guards_intact());

  over_x.dx = x;
  run(over_x, v.with_dz ? over_x.dz.data() : nullptr, dy.data(), over_x.dx.data());
  expect_equal(over_x, g);
  over_dy.dx = dy;
  run(over_dy, v.with_dz ? over_dy.dz.data() : nullptr, over_dy.dx.data(), x.data());
  expect_equal(over_dy, g);
  if (v.with_dz) {
    all_over_dy.dz = dy;
    run(all_over_dy, all_over_dy.dz.data(), all_over_dy.dz.data(), x.data());
    expect_equal(all_over_dy, g);
  }
  if (v.relu && has_masks(kernels, m)) {
    run(masked, v.with_dz ? masked.dz.data() : nullptr, dy.data(), x.data(), true);
    expect_equal(masked, g);
  }
}

void check_gradient(const Matrix& m, const GuardedBuffer<float>& values, const Variant& v) {
  for_each_kernels(describe(m, v), [&](const auto& kernels, int threads) {
    check_gradient(m, reals<RealOf<decltype(kernels)>>(values), v, kernels, threads);
  });
}

TEST(BatchNormGrad, MatchesReference) {
  for (const Matrix& m : kMatrices)
    for (bool relu : {false, true})
      for (bool second : {false, true})
        for (bool with_dz : {false, true}) check_gradient(m, random_floats(m.elements(), 29), {relu, second, with_dz});
}

TEST(BatchNormGrad, ManyRowsMatchReference) { check_gradient({200003, 3}, random_floats(600009, 29), {true, true, true}); }

TEST(BatchNormGrad, MeanFarAboveDeviationMatchesReference) {
  const Matrix m = {3001, 16};
  GuardedBuffer<float> x = random_floats(m.elements(), 30);
  for (float& value : x) value = 1e4f + 0.1f * value;
  check_gradient(m, x, {false, false, false});
}

TEST(BatchNormGrad, NullOutputsAreNotWritten) {
  const Matrix m = {33, 10};
  const GuardedBuffer<float> mean = random_floats(m.channels, 33), inv_std = random_floats(m.channels, 34, 0.5, 2);
  const Parameters p(m.channels);
  for_each_kernels("", [&](const auto& kernels, int threads) {
    using Real = RealOf<decltype(kernels)>;
    const GuardedBuffer<Real> x = random_reals<Real>(m.elements(), 31), dy = random_reals<Real>(m.elements(), 32);
    Gradients<float> expected(m);
    reference::batch_norm_grad(nullptr, expected.dscale.data(), nullptr, nullptr, floats(dy).data(), nullptr, floats(x).data(),
                               p.scale.data(), mean.data(), inv_std.data(), m.rows, m.channels);
    Gradients<Real> g(m);
    GuardedBuffer<float> workspace = test::reduction_workspace(kernels, m.channels, threads);
    kernels.batch_norm_grad(nullptr, g.dscale.data(), nullptr, nullptr, dy.data(), nullptr, nullptr, nullptr, x.data(),
                            p.scale.data(), mean.data(), inv_std.data(), m.rows, m.channels, workspace.data(), threads);
    expect_close(g.dscale, expected.dscale, test::sum_tolerance(33, 4));
  });
}

}  // namespace
}  // namespace epochbench
