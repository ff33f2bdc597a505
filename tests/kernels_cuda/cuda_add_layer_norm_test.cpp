// Layer normalization of dropout(x) + shortcut in CUDA, and its gradient, against the parts in the reference: rows of every
// kernel, with dropout and without, with and without the sum, in place.
#include <optional>

#include "tests/support/cuda_kernel_test.h"

namespace epochbench {
namespace {

constexpr double kEpsilon = 1e-12;
constexpr std::int32_t kStep = 7;

// One row per warp, with 8 to 32 values per lane: 8 to 1024. One row per block: longer rows, in packs (1032, 2048) or one by
// one (all others; 100 and 1028 for 16 bits).
constexpr Matrix kMatrices[] = {{5, 8},    {3, 64}, {9, 256}, {7, 512}, {6, 768}, {3, 1024}, {3, 1032}, {2, 2048}, {9, 100},
                                {2, 1028}, {1, 2},  {33, 1},  {1, 17},  {40, 3},  {37, 33},  {5, 513},  {2, 2049}, {60, 24}};

Dropout dropout_of(double probability) {
  return {0xfedcba9876543210u, 5, static_cast<std::uint32_t>(std::lround(probability * 0x1p32)),
          static_cast<float>(1 / (1 - probability))};
}
const Dropout kDropouts[] = {dropout_of(0), dropout_of(0.1)};
Dropout after_rows(Dropout dropout, std::int64_t rows, std::int64_t channels) {
  dropout.first = rows * channels;
  return dropout;
}

// What both directions read beside the tensors.
struct Parameters {
  DeviceBuffer<float> scale, bias;
  DeviceBuffer<std::int32_t> step{1};
  Dropout dropout;
  Parameters(std::int64_t channels, const Dropout& of_x)
      : scale(random_device_floats(channels, 1, 0.5, 2)), bias(random_device_floats(channels, 2)), dropout(of_x) {
    step[0] = kStep;
  }
  const std::int32_t* device_step() const { return dropout.threshold > 0 ? step.data() : nullptr; }
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

// The sum against its parts, then the rest against layer_norm of the sum as it was stored.
void check_forward(const Matrix& m, Element element, const Dropout& dropout) {
  const std::int64_t n = m.elements();
  const Parameters p(m.channels, dropout);
  const Tensor x = random_tensor(n, element, 3), shortcut = random_tensor(n, element, 4);
  GuardedBuffer<float> sum(n);
  reference::add(sum.data(), dropped(x.floats(), dropout).data(), shortcut.floats().data(), n);
  const double largest = 1 + dropout.scale;  // |sum|
  std::optional<GuardedBuffer<float>> first;
  for_each_order(describe(m), [&] {
    const auto run = [&](void* y, Forward& f, void* to_sum, const void* from_x, const void* from_shortcut) {
      cuda::add_layer_norm(y, f.mean.data(), f.inv_std.data(), to_sum, from_x, from_shortcut, p.scale.data(), p.bias.data(),
                           p.device_step(), dropout, m.rows, m.channels, kEpsilon, element, kNoStream);
    };
    Forward f(m, element);
    run(f.y.data(), f, f.sum.data(), x.data(), shortcut.data());
    expect_close(f.sum.floats(), sum, stored(element, {kEps, kEps * dropout.scale}));
    GuardedBuffer<float> y(n), mean(m.rows), inv_std(m.rows);
    reference::layer_norm(y.data(), mean.data(), inv_std.data(), f.sum.floats().data(), p.scale.data(), p.bias.data(), m.rows,
                          m.channels, kEpsilon);
    const GuardedBuffer<float> result = f.y.floats();
    expect_close(f.mean, mean, {kEps, 4 * kEps * largest});
    expect_close(f.inv_std, inv_std, {16 * kEps, 0});
    expect_close(result, y, stored(element, {0, 16 * kEps * (max_abs(y) + 1)}));
    EXPECT_TRUE(f.guards_intact());

    Forward without_sum(m, element), over_x(m, element), over_shortcut(m, element), over_x_without_sum(m, element);
    over_x.y = x;
    over_x_without_sum.y = x;
    over_shortcut.y = shortcut;
    run(without_sum.y.data(), without_sum, nullptr, x.data(), shortcut.data());
    run(over_x.y.data(), over_x, over_x.sum.data(), over_x.y.data(), shortcut.data());
    run(over_x_without_sum.y.data(), over_x_without_sum, nullptr, over_x_without_sum.y.data(), shortcut.data());
    run(over_shortcut.y.data(), over_shortcut, over_shortcut.sum.data(), x.data(), over_shortcut.y.data());
    for (const Forward* other : {&without_sum, &over_x, &over_shortcut, &over_x_without_sum}) {
      EXPECT_TRUE(bit_equal(other->y.floats(), result));
      EXPECT_TRUE(bit_equal(other->mean, f.mean));
      EXPECT_TRUE(bit_equal(other->inv_std, f.inv_std));
      EXPECT_TRUE(other->guards_intact());
    }
    EXPECT_TRUE(bit_equal(over_x.sum.floats(), f.sum.floats()));
    EXPECT_TRUE(bit_equal(over_shortcut.sum.floats(), f.sum.floats()));
    if (!first) first = result;
    EXPECT_TRUE(bit_equal(*first, result));
  });
}

TEST(CudaAddLayerNorm, MatchesItsPartsInTheReference) {
  for (const Matrix& m : kMatrices)
    for_each_element("", [&](Element element) {
      for (const Dropout& dropout : kDropouts) check_forward(m, element, after_rows(dropout, 3, m.channels));
    });
}

TEST(CudaAddLayerNorm, ManyRowsMatchTheirParts) {  // several rows per warp
  check_forward({6401, 8}, Element::f32, dropout_of(0.1));
}

// Dropped where the mask says so, and in the row of the others: a NaN there reaches nothing.
TEST(CudaAddLayerNorm, ADroppedNanReachesNothing) {
  for (const Matrix& m : {Matrix{50, 72}, Matrix{50, 71}, Matrix{3, 1032}})
    for_each_element(describe(m), [&](Element element) {
      const Parameters p(m.channels, dropout_of(0.5));
      GuardedBuffer<float> values = random_floats(m.elements(), 6);
      std::vector<bool> nan(static_cast<std::size_t>(m.rows));
      for (std::int64_t r = 0; r < m.rows; ++r) {
        values[r * m.channels + r] = 1;
        const GuardedBuffer<float> kept = dropped(values, p.dropout);
        nan[static_cast<std::size_t>(r)] = kept[r * m.channels + r] != 0;
        values[r * m.channels + r] = NAN;
      }
      const Tensor x(values, element), shortcut = random_tensor(m.elements(), element, 4);
      Tensor y(m.elements(), element);
      cuda::add_layer_norm(y.data(), nullptr, nullptr, nullptr, x.data(), shortcut.data(), p.scale.data(), p.bias.data(),
                           p.step.data(), p.dropout, m.rows, m.channels, kEpsilon, element, kNoStream);
      const GuardedBuffer<float> result = y.floats();
      for (std::int64_t i = 0; i < m.elements(); ++i)
        ASSERT_EQ(std::isnan(result[i]), nan[static_cast<std::size_t>(i / m.channels)]) << i;
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

void check_gradient(const Matrix& m, Element element, const Dropout& dropout) {
  const std::int64_t n = m.elements();
  const Parameters p(m.channels, dropout);
  const Tensor dy = random_tensor(n, element, 7), sum = random_tensor(n, element, 8);
  const GuardedBuffer<float> of_sum = sum.floats();
  GuardedBuffer<float> y(n), dsum(n), dscale(m.channels), dbias(m.channels);
  DeviceBuffer<float> mean(m.rows), inv_std(m.rows);
  reference::layer_norm(y.data(), mean.data(), inv_std.data(), of_sum.data(), p.scale.data(), p.bias.data(), m.rows, m.channels,
                        kEpsilon);
  reference::layer_norm_grad(dsum.data(), dscale.data(), dbias.data(), dy.floats().data(), of_sum.data(), p.scale.data(),
                             mean.data(), inv_std.data(), m.rows, m.channels);
  double largest = 1;  // |normalized sum|
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t r = i / m.channels;
    largest = std::max(largest, std::fabs((static_cast<double>(of_sum[i]) - mean[r]) * inv_std[r]));
  }
  const double rows = static_cast<double>(m.rows), error = 16 * kEps * 2 * max_abs(inv_std) * (1 + largest * largest);
  for_each_order(describe(m), [&] {
    DeviceBuffer<float> workspace = scratch(cuda::reduction_workspace_bytes(m.rows, m.channels));
    const auto run = [&](Gradients& g, void* dx, void* to_dsum, const void* from_dy, const void* from_sum) {
      workspace.poison();
      cuda::add_layer_norm_grad(dx, g.dscale.data(), g.dbias.data(), to_dsum, from_dy, from_sum, p.scale.data(), mean.data(),
                                inv_std.data(), p.device_step(), dropout, m.rows, m.channels, element, workspace.data(),
                                kNoStream);
    };
    Gradients g(m, element), over_dy(m, element), over_sum(m, element), only_dx(m, element), only_dsum(m, element);
    run(g, g.dx.data(), g.dsum.data(), dy.data(), sum.data());
    expect_close(g.dbias, dbias, test::sum_tolerance(rows, 1));
    expect_close(g.dscale, dscale, test::sum_tolerance(rows, largest));
    expect_close(g.dsum.floats(), dsum, stored(element, {0, error}));
    expect_close(g.dx.floats(), dropped(dsum, dropout), stored(element, {kEps, error * dropout.scale}));
    EXPECT_TRUE(g.guards_intact() && workspace.guards_intact());

    over_dy.dx = dy;
    over_sum.dx = sum;
    run(over_dy, over_dy.dx.data(), over_dy.dsum.data(), over_dy.dx.data(), sum.data());
    run(over_sum, over_sum.dx.data(), over_sum.dsum.data(), dy.data(), over_sum.dx.data());
    run(only_dx, only_dx.dx.data(), nullptr, dy.data(), sum.data());
    run(only_dsum, nullptr, only_dsum.dsum.data(), dy.data(), sum.data());
    for (const Gradients* other : {&over_dy, &over_sum, &only_dx}) EXPECT_TRUE(bit_equal(other->dx.floats(), g.dx.floats()));
    for (const Gradients* other : {&over_dy, &over_sum, &only_dsum})
      EXPECT_TRUE(bit_equal(other->dsum.floats(), g.dsum.floats()));
    for (const Gradients* other : {&over_dy, &over_sum, &only_dx, &only_dsum}) {
      EXPECT_TRUE(bit_equal(other->dscale, g.dscale));
      EXPECT_TRUE(bit_equal(other->dbias, g.dbias));
      EXPECT_TRUE(other->guards_intact());
    }
  });
}

TEST(CudaAddLayerNormGrad, MatchesItsPartsInTheReference) {
  for (const Matrix& m : kMatrices) for_each_element("", [&](Element element) { check_gradient(m, element, dropout_of(0.1)); });
  for (const Matrix& m : {Matrix{9, 256}, Matrix{2, 1028}}) check_gradient(m, Element::bf16, dropout_of(0));
}

TEST(CudaAddLayerNormGrad, ManyRowsMatchTheirParts) {  // several rows per warp and per block
  for (const Matrix& m : {Matrix{4001, 8}, Matrix{1001, 6}}) check_gradient(m, Element::f32, dropout_of(0.1));
}

}  // namespace
}  // namespace epochbench
