// Layer normalization of dropout(x) + shortcut, and its gradient: the sum against the reference, the rest against the kernels
// that they replace, in every form: without the sum or a gradient, without statistics, in place.
#include "tests/support/op_test.h"

namespace epochbench {
namespace {

constexpr double kEpsilon = 1e-12;
constexpr std::int32_t kStep = 5;

// CUDA has one row per warp, with 8 to 32 values per lane (8 to 1024), and one per block, in packs (1032, 2048) or one by one
// (all others; 100 and 1028 for 16 bits).
constexpr Matrix kMatrices[] = {{5, 8},    {3, 64}, {9, 256}, {7, 512}, {6, 768}, {3, 1024}, {3, 1032}, {2, 2048}, {9, 100},
                                {2, 1028}, {1, 2},  {33, 1},  {1, 17},  {40, 3},  {37, 33},  {5, 513},  {2, 2049}, {60, 24}};
constexpr Matrix kLarge[] = {{3, 16}, {4, 768}, {301, 5}, {70, 255}, {37, 513}, {5, 2049}, {2, 9000}};

std::vector<Matrix> matrices() { return test::op_sizes(kMatrices, kLarge); }

// The mask of a part of a batch that begins after three rows.
Dropout dropout_of(double probability, const Matrix& m) {
  Dropout dropout = {0x0123456789abcdefu, 9, static_cast<std::uint32_t>(std::lround(probability * 0x1p32)),
                     static_cast<float>(1 / (1 - probability))};
  dropout.first = 3 * m.channels;
  return dropout;
}

// What both directions read beside the tensors.
struct Parameters {
  DeviceBuffer<float> scale, bias;
  DeviceBuffer<std::int32_t> step{1};
  explicit Parameters(std::int64_t channels)
      : scale(random_device_floats(channels, 3, 0.5, 2)), bias(random_device_floats(channels, 4)) {
    step[0] = kStep;
  }
};

GuardedBuffer<float> dropped(const GuardedBuffer<float>& x, const Dropout& dropout) {
  GuardedBuffer<float> y(static_cast<std::int64_t>(x.size()));
  reference::dropout(y.data(), x.data(), &kStep, dropout, static_cast<std::int64_t>(x.size()));
  return y;
}

struct Forward {
  Tensor y, sum;
  DeviceBuffer<float> mean, inv_std;
  Forward(const Matrix& m, Element element)
      : y(m.elements(), element), sum(m.elements(), element), mean(m.rows), inv_std(m.rows) {}
  bool guards_intact() const {
    return y.guards_intact() && sum.guards_intact() && mean.guards_intact() && inv_std.guards_intact();
  }
};

void check_forward(const Matrix& m, Element element, const Dropout& dropout) {
  const std::int64_t n = m.elements();
  const Parameters p(m.channels);
  const Tensor x = random_tensor(n, element, 1), shortcut = random_tensor(n, element, 2);
  GuardedBuffer<float> sum(n);
  reference::add(sum.data(), dropped(x.floats(), dropout).data(), shortcut.floats().data(), n);
  SameBits same(false);  // no sum is divided among threads
  for_each_device(element, [&](const OpDevice& k) {
    const auto run = [&](Forward& f, void* to_sum, const Tensor& from_x, const Tensor& from_shortcut, bool statistics = true) {
      k.add_layer_norm(f.y.data(), statistics ? f.mean.data() : nullptr, statistics ? f.inv_std.data() : nullptr, to_sum,
                       from_x.data(), from_shortcut.data(), p.scale.data(), p.bias.data(),
                       dropout.threshold > 0 ? p.step.data() : nullptr, dropout, m.rows, m.channels, kEpsilon);
      EXPECT_TRUE(f.guards_intact());
    };
    Forward f(m, element), expected(m, element);
    run(f, f.sum.data(), x, shortcut);
    expect_close(f.sum.floats(), sum, stored(element, {kEps, 4 * kEps * dropout.scale}));
    k.layer_norm(expected.y.data(), expected.mean.data(), expected.inv_std.data(), f.sum.data(), p.scale.data(), p.bias.data(),
                 m.rows, m.channels, kEpsilon);
    const GuardedBuffer<float> result = f.y.floats();
    EXPECT_TRUE(bit_equal(result, expected.y.floats()));
    EXPECT_TRUE(bit_equal(f.mean, expected.mean) && bit_equal(f.inv_std, expected.inv_std));
    same.expect(k, result);

    Forward alone(m, element), over_x(m, element), over_shortcut(m, element), over_both(m, element), over_x_alone(m, element);
    over_x.y = over_x_alone.y = over_both.y = x;
    over_shortcut.y = over_both.sum = shortcut;
    run(alone, nullptr, x, shortcut, false);
    run(over_x, over_x.sum.data(), over_x.y, shortcut);
    run(over_x_alone, nullptr, over_x_alone.y, shortcut);
    run(over_shortcut, over_shortcut.sum.data(), x, over_shortcut.y);
    run(over_both, over_both.sum.data(), over_both.y, over_both.sum);
    for (const Forward* other : {&alone, &over_x, &over_x_alone, &over_shortcut, &over_both})
      EXPECT_TRUE(bit_equal(other->y.floats(), result));
    for (const Forward* other : {&over_x, &over_x_alone, &over_shortcut, &over_both})
      EXPECT_TRUE(bit_equal(other->mean, f.mean) && bit_equal(other->inv_std, f.inv_std));
    for (const Forward* other : {&over_x, &over_shortcut, &over_both})
      EXPECT_TRUE(bit_equal(other->sum.floats(), f.sum.floats()));
  });
}

TEST(AddLayerNorm, MatchesItsParts) {
  for (const Matrix& m : matrices())
    for_each_op_element(describe(m), [&](Element element) {
      for (double probability : {0.0, 0.3}) check_forward(m, element, dropout_of(probability, m));
    });
}

TEST(AddLayerNorm, ManyRowsMatchTheirParts) {  // several rows per warp
  const Matrix m = {6401, 8};
  check_forward(m, Element::f32, dropout_of(0.1, m));
}

// Dropped where the mask says so, and in the row of the others: a NaN there reaches nothing.
TEST(AddLayerNorm, ADroppedNanReachesNothing) {
  for (const Matrix& m : {Matrix{50, 72}, Matrix{50, 71}, Matrix{3, 1032}})
    for_each_op_element(describe(m), [&](Element element) {
      const Parameters p(m.channels);
      const Dropout dropout = dropout_of(0.5, m);
      GuardedBuffer<float> values = random_floats(m.elements(), 6);
      std::vector<bool> nan(static_cast<std::size_t>(m.rows));
      for (std::int64_t r = 0; r < m.rows; ++r) {
        values[r * m.channels + r] = 1;
        nan[static_cast<std::size_t>(r)] = dropped(values, dropout)[r * m.channels + r] != 0;
        values[r * m.channels + r] = NAN;
      }
      const Tensor x(values, element), shortcut = random_tensor(m.elements(), element, 4);
      for_each_device(element, [&](const OpDevice& k) {
        Tensor y(m.elements(), element);
        k.add_layer_norm(y.data(), nullptr, nullptr, nullptr, x.data(), shortcut.data(), p.scale.data(), p.bias.data(),
                         p.step.data(), dropout, m.rows, m.channels, kEpsilon);
        const GuardedBuffer<float> result = y.floats();
        for (std::int64_t i = 0; i < m.elements(); ++i)
          ASSERT_EQ(std::isnan(result[i]), nan[static_cast<std::size_t>(i / m.channels)]) << i;
      });
    });
}

struct Gradients {
  Tensor dx, dsum;
  DeviceBuffer<float> dscale, dbias;
  Gradients(const Matrix& m, Element element)
      : dx(m.elements(), element), dsum(m.elements(), element), dscale(m.channels), dbias(m.channels) {}
  bool guards_intact() const {
    return dx.guards_intact() && dsum.guards_intact() && dscale.guards_intact() && dbias.guards_intact();
  }
};

void check_gradient(const Matrix& m, Element element, double probability) {
  const std::int64_t n = m.elements();
  const Parameters p(m.channels);
  const Dropout dropout = dropout_of(probability, m);
  const Tensor dy = random_tensor(n, element, 5), sum = random_tensor(n, element, 6);
  const DeviceBuffer<float> mean = random_device_floats(m.rows, 7), inv_std = random_device_floats(m.rows, 8, 0.5, 2);
  for_each_device(element, [&](const OpDevice& k) {
    const auto run = [&](Gradients& g, void* dx, void* dsum, const Tensor& from_dy, const Tensor& from_sum) {
      k.add_layer_norm_grad(dx, g.dscale.data(), g.dbias.data(), dsum, from_dy.data(), from_sum.data(), p.scale.data(),
                            mean.data(), inv_std.data(), probability > 0 ? p.step.data() : nullptr, dropout, m.rows,
                            m.channels);
      EXPECT_TRUE(g.guards_intact());
    };
    Gradients expected(m, element), g(m, element);
    k.layer_norm_grad(expected.dsum.data(), expected.dscale.data(), expected.dbias.data(), dy.data(), sum.data(),
                      p.scale.data(), mean.data(), inv_std.data(), m.rows, m.channels);
    k.dropout(expected.dx.data(), expected.dsum.data(), p.step.data(), dropout, n);
    run(g, g.dx.data(), g.dsum.data(), dy, sum);

    Gradients over_dy(m, element), over_sum(m, element), only_dx(m, element), only_dsum(m, element);
    over_dy.dx = dy;
    over_sum.dx = sum;
    run(over_dy, over_dy.dx.data(), over_dy.dsum.data(), over_dy.dx, sum);
    run(over_sum, over_sum.dx.data(), over_sum.dsum.data(), dy, over_sum.dx);
    run(only_dx, only_dx.dx.data(), nullptr, dy, sum);
    run(only_dsum, nullptr, only_dsum.dsum.data(), dy, sum);
    // CUDA rounds to 16 bits after the dropout only, its parts also before.
    Tolerance of_dx = stored(element, kExact);
    of_dx.absolute *= dropout.scale;
    expect_close(g.dx.floats(), expected.dx.floats(), k.code == nullptr ? stored(element, of_dx) : kExact);
    for (const Gradients* each : {&over_dy, &over_sum, &only_dx}) EXPECT_TRUE(bit_equal(each->dx.floats(), g.dx.floats()));
    for (const Gradients* each : {&g, &over_dy, &over_sum, &only_dsum})
      EXPECT_TRUE(bit_equal(each->dsum.floats(), expected.dsum.floats()));
    for (const Gradients* each : {&g, &over_dy, &over_sum, &only_dx, &only_dsum})
      EXPECT_TRUE(bit_equal(each->dscale, expected.dscale) && bit_equal(each->dbias, expected.dbias));
  });
}

TEST(AddLayerNormGrad, MatchesItsParts) {
  for (const Matrix& m : matrices())
    for_each_op_element(describe(m), [&](Element element) { check_gradient(m, element, 0.3); });
  for (const Matrix& m : {Matrix{9, 256}, Matrix{2, 1028}}) check_gradient(m, Element::bf16, 0);
}

TEST(AddLayerNormGrad, ManyRowsMatchTheirParts) {  // several rows per warp and per block
  for (const Matrix& m : {Matrix{4001, 8}, Matrix{1001, 6}}) check_gradient(m, Element::f32, 0.1);
}

}  // namespace
}  // namespace epochbench
