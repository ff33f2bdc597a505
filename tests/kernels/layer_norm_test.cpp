// Layer normalization and its gradient against the reference: odd sizes, rows of every kernel, hard statistics, aliasing.
#include "tests/support/op_test.h"

namespace epochbench {
namespace {

constexpr double kEpsilon = 1e-12;

// CUDA has one row per warp, with 8 to 32 values per lane (8 to 1024), and one per block, in packs (1032, 2048) or one by one
// (all others; 100 and 1028 for 16 bits).
constexpr Matrix kMatrices[] = {{5, 8},    {3, 64},   {9, 256},  {2, 264},  {7, 512},  {6, 768}, {4, 776},
                                {3, 1024}, {3, 1032}, {2, 2048}, {9, 100},  {2, 1028}, {1, 2},   {1, 17},
                                {40, 3},   {37, 33},  {5, 513},  {2, 2049}, {60, 24},  {2, 3},   {3, 16}};
constexpr Matrix kLarge[] = {{4, 768}, {301, 5}, {65, 128}, {70, 255}, {37, 513}, {5, 2049}, {2, 9000}};

std::vector<Matrix> matrices() { return test::op_sizes(kMatrices, kLarge); }

struct Parameters {
  DeviceBuffer<float> scale, bias;
  explicit Parameters(std::int64_t channels)
      : scale(random_device_floats(channels, 1, 0.5, 2)), bias(random_device_floats(channels, 2)) {}
};

struct Forward {
  Tensor y;
  DeviceBuffer<float> mean, inv_std;
  Forward(const Matrix& m, Element element) : y(m.elements(), element), mean(m.rows), inv_std(m.rows) {}
  bool guards_intact() const { return y.guards_intact() && mean.guards_intact() && inv_std.guards_intact(); }
};

struct Expected {
  GuardedBuffer<float> y;
  DeviceBuffer<float> mean, inv_std;
  Expected(const Matrix& m, const GuardedBuffer<float>& x, const Parameters& p, double epsilon)
      : y(m.elements()), mean(m.rows), inv_std(m.rows) {
    reference::layer_norm(y.data(), mean.data(), inv_std.data(), x.data(), p.scale.data(), p.bias.data(), m.rows, m.channels,
                          epsilon);
  }
};

void run(const OpDevice& k, Forward& f, const Tensor& x, const Parameters& p, const Matrix& m, double epsilon = kEpsilon) {
  k.layer_norm(f.y.data(), f.mean.data(), f.inv_std.data(), x.data(), p.scale.data(), p.bias.data(), m.rows, m.channels,
               epsilon);
}

// Errors of the statistics are relative to the deviation of a row, however large its mean.
void check_forward(const Matrix& m, const Tensor& x, double deviation, double epsilon = kEpsilon, bool outlier = false) {
  const Parameters p(m.channels);
  const Expected expected(m, x.floats(), p, epsilon);
  SameBits same(false);  // no sum is divided among threads
  for_each_device(x.element(), [&](const OpDevice& k) {
    // After an outlier, each of the small squares of a sum in float rounds in the same direction, by at most half a unit; the
    // square root halves that.
    const double roundings = 16 + (outlier ? k.squares_in_float / 4 : 0);
    Forward f(m, x.element());
    Tensor in_place = x;
    run(k, f, x, p, m, epsilon);
    k.layer_norm(in_place.data(), nullptr, nullptr, in_place.data(), p.scale.data(), p.bias.data(), m.rows, m.channels,
                 epsilon);
    const GuardedBuffer<float> result = f.y.floats();
    expect_close(f.mean, expected.mean, {kEps, 4 * kEps * deviation});
    expect_close(f.inv_std, expected.inv_std, {roundings * kEps, 0});
    expect_close(result, expected.y, stored(x.element(), {0, roundings * kEps * (max_abs(expected.y) + 1)}));
    EXPECT_TRUE(bit_equal(in_place.floats(), result));
    EXPECT_TRUE(f.guards_intact() && in_place.guards_intact());
    same.expect(k, result);
  });
}

TEST(LayerNorm, MatchesReference) {
  for (const Matrix& m : matrices())
    for_each_op_element(describe(m), [&](Element element) { check_forward(m, random_tensor(m.elements(), element, 3), 1); });
}

TEST(LayerNorm, ManyRowsMatchReference) {  // several rows per warp
  const Matrix m = {6401, 8};
  check_forward(m, random_tensor(m.elements(), Element::f32, 13), 1);
}

// One channel, or equal values whose float mean is exact: the variance is 0 and the result is the bias.
TEST(LayerNorm, RowsWithoutVarianceGiveTheBias) {
  for (const Matrix& m : {Matrix{33, 1}, Matrix{7, 64}, Matrix{2, 2048}})
    for_each_op_element(describe(m), [&](Element element) {
      const Tensor x(std::vector<float>(static_cast<std::size_t>(m.elements()), 0.75f), element);
      const Parameters p(m.channels);
      for_each_device(element, [&](const OpDevice& k) {
        Forward f(m, element);
        run(k, f, x, p, m);
        const GuardedBuffer<float> result = f.y.floats();
        for (std::int64_t i = 0; i < m.elements(); ++i)
          ASSERT_EQ(result[i], test::rounded(p.bias[i % m.channels], element)) << i;
        for (float inverse : f.inv_std) ASSERT_FLOAT_EQ(inverse, 1e6f);
      });
    });
}

// Epsilon is a thousandth of the variance, so omitting it or adding it elsewhere would show.
TEST(LayerNorm, EpsilonIsAddedToTheVariance) {
  for (const Matrix& m : {Matrix{5, 96}, Matrix{5, 97}})
    for_each_op_element(describe(m), [&](Element element) {
      check_forward(m, random_tensor(m.elements(), element, 4, -0.01, 0.01), 0.01, 1e-5);
    });
}

// One unit in the last place of 10,000 is a tenth of this deviation: sums of squares in float would see none at all.
TEST(LayerNorm, MeanFarAboveDeviationMatchesReference) {
  for (const Matrix& m : {Matrix{9, 768}, Matrix{3, 5000}, Matrix{40, 33}})
    for_each_op_element(describe(m), [&](Element element) {
      GuardedBuffer<float> x = random_floats(m.elements(), 5);
      for (float& value : x) value = 1e4f + 0.01f * value;
      check_forward(m, Tensor(x, element), 0.01);
    });
}

TEST(LayerNorm, OutlierInAnOtherwiseConstantRowMatchesReference) {
  for (const Matrix& m : {Matrix{6, 3001}, Matrix{4, 1024}})
    for_each_op_element(describe(m), [&](Element element) {
      GuardedBuffer<float> x(m.elements());
      std::fill(x.begin(), x.end(), 0.3f);
      for (std::int64_t r = 0; r < m.rows; ++r) x[r * m.channels + r * 200] = 1000;
      check_forward(m, Tensor(x, element), 1000 / std::sqrt(static_cast<double>(m.channels)), kEpsilon, true);
    });
}

TEST(LayerNorm, NanReachesItsRowOnly) {
  for (const Matrix& m : {Matrix{50, 72}, Matrix{50, 71}})
    for_each_op_element(describe(m), [&](Element element) {
      GuardedBuffer<float> values = random_floats(m.elements(), 6);
      values[20 * m.channels + 3] = NAN;
      const Tensor x(values, element);
      const Parameters p(m.channels);
      for_each_device(element, [&](const OpDevice& k) {
        Forward f(m, element);
        run(k, f, x, p, m);
        const GuardedBuffer<float> result = f.y.floats();
        for (std::int64_t i = 0; i < m.elements(); ++i) ASSERT_EQ(std::isnan(result[i]), i / m.channels == 20) << i;
      });
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
  const GuardedBuffer<float> wide = x.floats();
  const Expected f(m, wide, p, kEpsilon);
  GuardedBuffer<float> dx(m.elements()), dscale(m.channels), dbias(m.channels);
  reference::layer_norm_grad(dx.data(), dscale.data(), dbias.data(), dy.floats().data(), wide.data(), p.scale.data(),
                             f.mean.data(), f.inv_std.data(), m.rows, m.channels);
  double largest = 1;  // |normalized x|
  for (std::int64_t i = 0; i < m.elements(); ++i) {
    const std::int64_t r = i / m.channels;
    largest = std::max(largest, std::fabs((static_cast<double>(wide[i]) - f.mean[r]) * f.inv_std[r]));
  }
  const double slope = 2 * max_abs(f.inv_std), rows = static_cast<double>(m.rows);  // scales are below 2
  SameBits same(true);
  for_each_device(element, [&](const OpDevice& k) {
    Gradients g(m, element), over_dy(m, element), over_x(m, element), without_dx(m, element), without_sums(m, element);
    const auto run_grad = [&](Gradients& to, void* to_dx, const Tensor& from_dy, const Tensor& from_x) {
      const bool sums = &to != &without_sums;
      k.layer_norm_grad(to_dx, sums ? to.dscale.data() : nullptr, sums ? to.dbias.data() : nullptr, from_dy.data(),
                        from_x.data(), p.scale.data(), f.mean.data(), f.inv_std.data(), m.rows, m.channels);
      EXPECT_TRUE(to.guards_intact());
    };
    run_grad(g, g.dx.data(), dy, x);
    expect_close(g.dbias, dbias, test::sum_tolerance(rows, 1));
    expect_close(g.dscale, dscale, test::sum_tolerance(rows, largest));
    expect_close(g.dx.floats(), dx, stored(element, {0, 16 * kEps * slope * (1 + largest * largest)}));
    same.expect(k, g.dscale);

    over_dy.dx = dy;
    over_x.dx = x;
    run_grad(over_dy, over_dy.dx.data(), over_dy.dx, x);
    run_grad(over_x, over_x.dx.data(), dy, over_x.dx);
    run_grad(without_dx, nullptr, dy, x);
    run_grad(without_sums, without_sums.dx.data(), dy, x);
    for (const Gradients* other : {&over_dy, &over_x, &without_sums}) EXPECT_TRUE(bit_equal(other->dx.floats(), g.dx.floats()));
    for (const Gradients* other : {&over_dy, &over_x, &without_dx})
      EXPECT_TRUE(bit_equal(other->dscale, g.dscale) && bit_equal(other->dbias, g.dbias));
  });
}

TEST(LayerNormGrad, MatchesReference) {
  for (const Matrix& m : matrices())
    for_each_op_element(describe(m), [&](Element element) { check_gradient(m, random_tensor(m.elements(), element, 8)); });
}

TEST(LayerNormGrad, ManyRowsMatchReference) {  // several rows per warp and per block
  for (const Matrix& m : {Matrix{4001, 8}, Matrix{1001, 6}}) check_gradient(m, random_tensor(m.elements(), Element::f32, 9));
  if (!test::op_large()) return;
  const Matrix m = {30011, 6};
  for_each_op_element(describe(m), [&](Element element) { check_gradient(m, random_tensor(m.elements(), element, 9)); });
}

TEST(LayerNormGrad, MeanFarAboveDeviationMatchesReference) {
  for (const Matrix& m : {Matrix{70, 200}, Matrix{70, 201}})
    for_each_op_element(describe(m), [&](Element element) {
      if (element == Element::f16) return;  // rows of equal values have gradients of 1e6, which it does not represent
      GuardedBuffer<float> x = random_floats(m.elements(), 10);
      for (float& value : x) value = 1e4f + 0.1f * value;
      check_gradient(m, Tensor(x, element));
    });
}

TEST(ReferenceLayerNorm, WorkedOutByHand) {
  const std::vector<float> x = {1, 3, 5, 5}, scale = {2, 1}, bias = {0, 10};  // rows: mean 2, deviation 1; mean 5, deviation 0
  std::vector<float> y(4), mean(2), inv_std(2);
  reference::layer_norm(y.data(), mean.data(), inv_std.data(), x.data(), scale.data(), bias.data(), 2, 2, 0.0625);
  expect_close(mean, std::vector<float>{2, 5}, kExact);
  expect_close(inv_std, std::vector<float>{0.9701425f, 4}, {kEps, 0});  // 1 / sqrt(1.0625), 1 / sqrt(0.0625)
  expect_close(y, std::vector<float>{-1.940285f, 10.9701425f, 0, 10}, {kEps, 0});
}

}  // namespace
}  // namespace epochbench
