// Layer normalization in CUDA against the reference: rows of every kernel, hard statistics, aliasing.
#include <optional>

#include "tests/support/cuda_kernel_test.h"

namespace epochbench {
namespace {

constexpr double kEpsilon = 1e-12;

// One row per warp, with 8 to 32 values per lane: 8 to 1024. One row per block: longer rows, in packs (1032, 2048) or one by
// one (all others; 100 and 1028 for 16 bits).
constexpr Matrix kMatrices[] = {{5, 8},    {3, 64},   {9, 256},  {2, 264},  {7, 512},  {6, 768}, {4, 776},
                                {3, 1024}, {3, 1032}, {2, 2048}, {9, 100},  {2, 1028}, {1, 2},   {1, 17},
                                {40, 3},   {37, 33},  {5, 513},  {2, 2049}, {60, 24}};

struct Parameters {
  DeviceBuffer<float> scale, bias;
  explicit Parameters(std::int64_t channels)
      : scale(random_device_floats(channels, 1, 0.5, 2)), bias(random_device_floats(channels, 2)) {}
};

struct Forward {
  GuardedBuffer<float> y;
  DeviceBuffer<float> mean, inv_std;
  explicit Forward(const Matrix& m) : y(m.elements()), mean(m.rows), inv_std(m.rows) {}
};

Forward reference_forward(const Matrix& m, const Tensor& x, const Parameters& p, double epsilon) {
  Forward f(m);
  reference::layer_norm(f.y.data(), f.mean.data(), f.inv_std.data(), x.floats().data(), p.scale.data(), p.bias.data(), m.rows,
                        m.channels, epsilon);
  return f;
}

// Errors of the statistics are relative to the deviation of a row, however large its mean.
void check_forward(const Matrix& m, const Tensor& x, double deviation, double epsilon = kEpsilon, double roundings = 16) {
  const Element element = x.element();
  const Parameters p(m.channels);
  const Forward expected = reference_forward(m, x, p, epsilon);
  std::optional<GuardedBuffer<float>> first;
  for_each_order(describe(m), [&] {
    Tensor y(m.elements(), element), in_place = x;
    DeviceBuffer<float> mean(m.rows), inv_std(m.rows);
    cuda::layer_norm(y.data(), mean.data(), inv_std.data(), x.data(), p.scale.data(), p.bias.data(), m.rows, m.channels,
                     epsilon, element, kNoStream);
    cuda::layer_norm(in_place.data(), nullptr, nullptr, in_place.data(), p.scale.data(), p.bias.data(), m.rows, m.channels,
                     epsilon, element, kNoStream);
    const GuardedBuffer<float> result = y.floats();
    expect_close(mean, expected.mean, {kEps, 4 * kEps * deviation});
    expect_close(inv_std, expected.inv_std, {roundings * kEps, 0});
    expect_close(result, expected.y, stored(element, {0, roundings * kEps * (max_abs(expected.y) + 1)}));
    EXPECT_TRUE(bit_equal(in_place.floats(), result));
    EXPECT_TRUE(y.guards_intact() && mean.guards_intact() && inv_std.guards_intact() && in_place.guards_intact());
    if (!first) first = result;
    EXPECT_TRUE(bit_equal(*first, result));
  });
}

TEST(CudaLayerNorm, MatchesReference) {
  for (const Matrix& m : kMatrices)
    for_each_element("", [&](Element element) { check_forward(m, random_tensor(m.elements(), element, 3), 1); });
}

TEST(CudaLayerNorm, ManyRowsMatchReference) {  // several rows per warp
  const Matrix m = {6401, 8};
  check_forward(m, random_tensor(m.elements(), Element::f32, 13), 1);
}

// One channel, or equal values whose float mean is exact: the variance is 0 and the result is the bias.
TEST(CudaLayerNorm, RowsWithoutVarianceGiveTheBias) {
  for (const Matrix& m : {Matrix{33, 1}, Matrix{7, 64}, Matrix{2, 2048}})
    for_each_element(describe(m), [&](Element element) {
      GuardedBuffer<float> values(m.elements());
      std::fill(values.begin(), values.end(), 0.75f);
      const Tensor x(values, element);
      const Parameters p(m.channels);
      Tensor y(m.elements(), element);
      DeviceBuffer<float> mean(m.rows), inv_std(m.rows);
      cuda::layer_norm(y.data(), mean.data(), inv_std.data(), x.data(), p.scale.data(), p.bias.data(), m.rows, m.channels,
                       kEpsilon, element, kNoStream);
      const GuardedBuffer<float> result = y.floats();
      for (std::int64_t i = 0; i < m.elements(); ++i) ASSERT_EQ(result[i], test::rounded(p.bias[i % m.channels], element)) << i;
      for (float inverse : inv_std) ASSERT_FLOAT_EQ(inverse, 1e6f);
    });
}

// Epsilon is a thousandth of the variance, so omitting it or adding it elsewhere would show.
TEST(CudaLayerNorm, EpsilonIsAddedToTheVariance) {
  for (const Matrix& m : {Matrix{5, 96}, Matrix{5, 97}})
    check_forward(m, random_tensor(m.elements(), Element::f32, 4, -0.01, 0.01), 0.01, 1e-5);
}

// One unit in the last place of 10,000 is a tenth of this deviation: sums of squares in float would see none at all.
TEST(CudaLayerNorm, MeanFarAboveDeviationMatchesReference) {
  for (const Matrix& m : {Matrix{9, 768}, Matrix{3, 5000}, Matrix{40, 33}}) {
    GuardedBuffer<float> x = random_floats(m.elements(), 5);
    for (float& value : x) value = 1e4f + 0.01f * value;
    check_forward(m, Tensor(x, Element::f32), 0.01);
  }
}

// After the outlier, each of a thread's at most 32 small squares rounds in the same direction.
TEST(CudaLayerNorm, OutlierInAnOtherwiseConstantRowMatchesReference) {
  for (const Matrix& m : {Matrix{4, 3001}, Matrix{4, 1024}}) {
    GuardedBuffer<float> x(m.elements());
    std::fill(x.begin(), x.end(), 0.3f);
    for (std::int64_t r = 0; r < m.rows; ++r) x[r * m.channels + r * 200] = 1000;
    check_forward(m, Tensor(x, Element::f32), 1000 / std::sqrt(static_cast<double>(m.channels)), kEpsilon, 32);
  }
}

TEST(CudaLayerNorm, NanReachesItsRowOnly) {
  for (const Matrix& m : {Matrix{50, 72}, Matrix{50, 71}})
    for_each_element(describe(m), [&](Element element) {
      GuardedBuffer<float> values = random_floats(m.elements(), 6);
      values[20 * m.channels + 3] = NAN;
      const Tensor x(values, element);
      const Parameters p(m.channels);
      Tensor y(m.elements(), element);
      cuda::layer_norm(y.data(), nullptr, nullptr, x.data(), p.scale.data(), p.bias.data(), m.rows, m.channels, kEpsilon,
                       element, kNoStream);
      const GuardedBuffer<float> result = y.floats();
      for (std::int64_t i = 0; i < m.elements(); ++i) ASSERT_EQ(std::isnan(result[i]), i / m.channels == 20) << i;
    });
}

struct Gradients {
  Tensor dx;
  DeviceBuffer<float> dscale, dbias;
  Gradients(const Matrix& m, Element element) : dx(m.elements(), element), dscale(m.channels), dbias(m.channels) {}
  bool guards_intact() const { return dx.guards_intact() && dscale.guards_intact() && dbias.guards_intact(); }
};

void check_gradient(const Matrix& m, const Tensor& x) {
  const Element element = x.element();
  const Parameters p(m.channels);
  const Tensor dy = random_tensor(m.elements(), element, 7);
  const Forward f = reference_forward(m, x, p, kEpsilon);
  const GuardedBuffer<float> of_x = x.floats();
  GuardedBuffer<float> expected_dx(m.elements()), expected_dscale(m.channels), expected_dbias(m.channels);
  reference::layer_norm_grad(expected_dx.data(), expected_dscale.data(), expected_dbias.data(), dy.floats().data(), of_x.data(),
                             p.scale.data(), f.mean.data(), f.inv_std.data(), m.rows, m.channels);
  double largest = 1;  // |normalized x|
  for (std::int64_t i = 0; i < m.elements(); ++i) {
    const std::int64_t r = i / m.channels;
    largest = std::max(largest, std::fabs((static_cast<double>(of_x[i]) - f.mean[r]) * f.inv_std[r]));
  }
  const double slope = 2 * max_abs(f.inv_std), rows = static_cast<double>(m.rows);  // scales are below 2
  for_each_order(describe(m), [&] {
    DeviceBuffer<float> workspace = scratch(cuda::reduction_workspace_bytes(m.rows, m.channels));
    const auto run = [&](Gradients& g, Tensor* dx, const Tensor& from_dy, const Tensor& from_x) {
      workspace.poison();
      cuda::layer_norm_grad(dx != nullptr ? dx->data() : nullptr, g.dscale.data(), g.dbias.data(), from_dy.data(),
                            from_x.data(), p.scale.data(), f.mean.data(), f.inv_std.data(), m.rows, m.channels, element,
                            workspace.data(), kNoStream);
    };
    Gradients g(m, element), over_dy(m, element), over_x(m, element), without_dx(m, element);
    run(g, &g.dx, dy, x);
    expect_close(g.dbias, expected_dbias, test::sum_tolerance(rows, 1));
    expect_close(g.dscale, expected_dscale, test::sum_tolerance(rows, largest));
    expect_close(g.dx.floats(), expected_dx, stored(element, {0, 16 * kEps * slope * (1 + largest * largest)}));
    EXPECT_TRUE(g.guards_intact() && workspace.guards_intact());

    over_dy.dx = dy;
    over_x.dx = x;
    run(over_dy, &over_dy.dx, over_dy.dx, x);
    run(over_x, &over_x.dx, dy, over_x.dx);
    run(without_dx, nullptr, dy, x);
    EXPECT_TRUE(bit_equal(over_dy.dx.floats(), g.dx.floats()));
    EXPECT_TRUE(bit_equal(over_x.dx.floats(), g.dx.floats()));
    for (const Gradients* other : {&over_dy, &over_x, &without_dx}) {
      EXPECT_TRUE(bit_equal(other->dscale, g.dscale));
      EXPECT_TRUE(bit_equal(other->dbias, g.dbias));
    }
  });
}

TEST(CudaLayerNormGrad, MatchesReference) {
  for (const Matrix& m : kMatrices)
    for_each_element("", [&](Element element) { check_gradient(m, random_tensor(m.elements(), element, 8)); });
}

TEST(CudaLayerNormGrad, ManyRowsMatchReference) {  // several rows per warp and per block
  for (const Matrix& m : {Matrix{4001, 8}, Matrix{1001, 6}}) check_gradient(m, random_tensor(m.elements(), Element::f32, 9));
}

TEST(CudaLayerNormGrad, MeanFarAboveDeviationMatchesReference) {
  for (const Matrix& m : {Matrix{70, 200}, Matrix{70, 201}}) {
    GuardedBuffer<float> x = random_floats(m.elements(), 10);
    for (float& value : x) value = 1e4f + 0.1f * value;
    check_gradient(m, Tensor(x, Element::f32));
  }
}

TEST(CudaLayerNormGrad, NullSumsAreNotWritten) {
  const Matrix m = {9, 40};
  const Tensor x = random_tensor(m.elements(), Element::f32, 11), dy = random_tensor(m.elements(), Element::f32, 12);
  const Parameters p(m.channels);
  const Forward f = reference_forward(m, x, p, kEpsilon);
  GuardedBuffer<float> expected(m.elements());
  reference::layer_norm_grad(expected.data(), nullptr, nullptr, dy.floats().data(), x.floats().data(), p.scale.data(),
                             f.mean.data(), f.inv_std.data(), m.rows, m.channels);
  Tensor dx(m.elements(), Element::f32);
  DeviceBuffer<float> workspace = scratch(cuda::reduction_workspace_bytes(m.rows, m.channels));
  cuda::layer_norm_grad(dx.data(), nullptr, nullptr, dy.data(), x.data(), p.scale.data(), f.mean.data(), f.inv_std.data(),
                        m.rows, m.channels, Element::f32, workspace.data(), kNoStream);
  expect_close(dx.floats(), expected, {0, 16 * kEps * 2 * max_abs(f.inv_std) * (1 + 4 * 4)});
}

}  // namespace
}  // namespace epochbench
