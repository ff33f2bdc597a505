// Element-wise CPU kernels, the bias and its gradient, against the reference. They round once: bit-equal in float, within
// half a unit in the last place in Bf16.
#include "tests/support/kernel_test.h"

namespace epochbench {
namespace {

constexpr std::int64_t kSizes[] = {0, 1, 7, 16, 33, 1000, 40003};

constexpr Matrix kMatrices[] = {{1, 1},    {3, 10},  {5, 1},     {40001, 1}, {1, 300},   {7, 255},   {2, 256},
                                {257, 64}, {130, 6}, {4001, 10}, {2, 2049},  {71, 1000}, {40, 2048}, {16384, 16}};

// Values of both signs, with zeros of both signs.
GuardedBuffer<float> signed_values(std::int64_t n, std::uint64_t seed) {
  GuardedBuffer<float> values = random_floats(n, seed);
  for (std::int64_t i = 0; i < n; i += 5) values[i] = i % 2 == 0 ? 0.0f : -0.0f;
  return values;
}

TEST(Relu, MatchesReference) {
  for (std::int64_t n : kSizes) {
    for_each_kernels(std::to_string(n), [&](const auto& kernels, int threads) {
      using Real = RealOf<decltype(kernels)>;
      const GuardedBuffer<Real> x = reals<Real>(signed_values(n, 1));
      GuardedBuffer<float> expected(n);
      reference::relu(expected.data(), floats(x).data(), n);
      GuardedBuffer<Real> y(n), in_place = x;
      kernels.relu(y.data(), x.data(), n, threads);
      kernels.relu(in_place.data(), in_place.data(), n, threads);
      expect_close(floats(y), expected, kExact);
      EXPECT_TRUE(test::bit_equal(in_place, y));
      EXPECT_TRUE(y.guards_intact());
    });
  }
}

TEST(Relu, KeepsNan) {
  for_each_kernels("", [](const auto& kernels, int threads) {
    using Real = RealOf<decltype(kernels)>;
    GuardedBuffer<float> values = random_floats(37, 1);
    for (std::int64_t at : {0, 20, 36}) values[at] = NAN;
    const GuardedBuffer<Real> x = reals<Real>(values);
    GuardedBuffer<Real> y(37);
    kernels.relu(y.data(), x.data(), 37, threads);
    for (std::int64_t i = 0; i < 37; ++i) EXPECT_EQ(std::isnan(floats(y)[i]), i == 0 || i == 20 || i == 36) << i;
  });
}

TEST(ReluGrad, MatchesReference) {
  for (std::int64_t n : kSizes) {
    for_each_kernels(std::to_string(n), [&](const auto& kernels, int threads) {
      using Real = RealOf<decltype(kernels)>;
      const GuardedBuffer<Real> dy = random_reals<Real>(n, 2), y = reals<Real>(signed_values(n, 3));
      GuardedBuffer<float> expected(n);
      reference::relu_grad(expected.data(), floats(dy).data(), floats(y).data(), n);
      GuardedBuffer<Real> dx(n), over_dy = dy, over_y = y;
      kernels.relu_grad(dx.data(), dy.data(), y.data(), n, threads);
      kernels.relu_grad(over_dy.data(), over_dy.data(), y.data(), n, threads);
      kernels.relu_grad(over_y.data(), dy.data(), over_y.data(), n, threads);
      expect_close(floats(dx), expected, kExact);
      EXPECT_TRUE(test::bit_equal(over_dy, dx));
      EXPECT_TRUE(test::bit_equal(over_y, dx));
      EXPECT_TRUE(dx.guards_intact());
    });
  }
}

TEST(Add, MatchesReference) {
  for (std::int64_t n : kSizes) {
    for_each_kernels(std::to_string(n), [&](const auto& kernels, int threads) {
      using Real = RealOf<decltype(kernels)>;
      const GuardedBuffer<Real> a = random_reals<Real>(n, 4), b = random_reals<Real>(n, 5);
      GuardedBuffer<float> expected(n);
      reference::add(expected.data(), floats(a).data(), floats(b).data(), n);
      GuardedBuffer<Real> y(n), over_a = a, over_b = b;
      kernels.add(y.data(), a.data(), b.data(), n, threads);
      kernels.add(over_a.data(), over_a.data(), b.data(), n, threads);
      kernels.add(over_b.data(), a.data(), over_b.data(), n, threads);
      expect_close(floats(y), expected, rounded<Real>(kExact));
      EXPECT_TRUE(test::bit_equal(over_a, y));
      EXPECT_TRUE(test::bit_equal(over_b, y));
      EXPECT_TRUE(y.guards_intact());
    });
  }
}

TEST(Accumulate, MatchesReference) {
  for (std::int64_t n : kSizes)
    for_each_kernels(std::to_string(n), [&](const auto& kernels, int threads) {
      using Real = RealOf<decltype(kernels)>;
      const GuardedBuffer<Real> x = random_reals<Real>(n, 6);
      for (bool first : {true, false}) {
        GuardedBuffer<float> sum = random_floats(n, 7), expected = sum;
        reference::accumulate(expected.data(), floats(x).data(), 0.25f, first, n);
        kernels.accumulate(sum.data(), x.data(), 0.25f, first, n, threads);
        expect_close(sum, expected, kExact);
        EXPECT_TRUE(sum.guards_intact());
      }
    });
}

TEST(BiasAdd, MatchesReference) {
  for (const Matrix& m : kMatrices) {
    const std::int64_t n = m.rows * m.channels;
    for_each_kernels(describe(m), [&](const auto& kernels, int threads) {
      using Real = RealOf<decltype(kernels)>;
      const GuardedBuffer<Real> x = random_reals<Real>(n, 6), bias = random_reals<Real>(m.channels, 7);
      GuardedBuffer<float> expected(n);
      reference::bias_add(expected.data(), floats(x).data(), floats(bias).data(), m.rows, m.channels);
      GuardedBuffer<Real> y(n), in_place = x;
      kernels.bias_add(y.data(), x.data(), bias.data(), m.rows, m.channels, threads);
      kernels.bias_add(in_place.data(), in_place.data(), bias.data(), m.rows, m.channels, threads);
      expect_close(floats(y), expected, rounded<Real>(kExact));
      EXPECT_TRUE(test::bit_equal(in_place, y));
      EXPECT_TRUE(y.guards_intact());
    });
  }
}

TEST(BiasAddGrad, MatchesReference) {
  for (const Matrix& m : kMatrices) {
    for_each_kernels(describe(m), [&](const auto& kernels, int threads) {
      using Real = RealOf<decltype(kernels)>;
      const GuardedBuffer<Real> dy = random_reals<Real>(m.rows * m.channels, 8);
      GuardedBuffer<float> expected(m.channels), workspace = test::reduction_workspace(kernels, m.channels, threads);
      reference::bias_add_grad(expected.data(), floats(dy).data(), m.rows, m.channels);
      GuardedBuffer<Real> dbias(m.channels);
      kernels.bias_add_grad(dbias.data(), dy.data(), m.rows, m.channels, workspace.data(), threads);
      expect_close(floats(dbias), expected, rounded<Real>(test::sum_tolerance(static_cast<double>(m.rows), 1)));
      EXPECT_TRUE(dbias.guards_intact());
      EXPECT_TRUE(workspace.guards_intact());
    });
  }
}

// A plain float sum of this many ones stops growing at 2^24.
TEST(BiasAddGrad, ManyRowsKeepPrecision) {
  constexpr std::int64_t kRows = (1 << 24) + 5;
  GuardedBuffer<float> dy(kRows), dbias(1);
  std::fill(dy.begin(), dy.end(), 0.1f);
  const cpu::Kernels<float>& kernels = *cpu::best_kernels<float>();
  GuardedBuffer<float> workspace = test::reduction_workspace(kernels, 1, 2);
  kernels.bias_add_grad(dbias.data(), dy.data(), kRows, 1, workspace.data(), 2);
  EXPECT_NEAR(dbias[0] / (static_cast<double>(0.1f) * kRows), 1, kEps);
}

TEST(BiasAddGrad, IsBitEqualForEqualThreads) {
  for_each_kernels("", [&](const auto& kernels, int threads) {
    using Real = RealOf<decltype(kernels)>;
    const GuardedBuffer<Real> dy = random_reals<Real>(40001 * 10, 9);
    GuardedBuffer<float> workspace = test::reduction_workspace(kernels, 10, threads);
    GuardedBuffer<Real> first(10), again(10);
    kernels.bias_add_grad(first.data(), dy.data(), 40001, 10, workspace.data(), threads);
    kernels.bias_add_grad(again.data(), dy.data(), 40001, 10, workspace.data(), threads);
    EXPECT_TRUE(test::bit_equal(first, again));
  });
}

}  // namespace
}  // namespace epochbench
