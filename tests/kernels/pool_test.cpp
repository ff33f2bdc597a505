// Pooling on the CPU against the reference: windows that overlap, leave gaps, or extend past the edge.
#include <gmock/gmock.h>

#include "tests/support/kernel_test.h"

namespace epochbench {
namespace {

template <typename Real>
void check_pool(const PoolShape& s, const GuardedBuffer<float>& values) {
  const GuardedBuffer<Real> x = reals<Real>(values);
  GuardedBuffer<float> expected(outputs(s));
  GuardedBuffer<std::uint8_t> expected_index(outputs(s));
  reference::max_pool(expected.data(), expected_index.data(), floats(x).data(), s);
  for_each_kernels_of<Real>(describe(s), [&](const cpu::Kernels<Real>& kernels, int threads) {
    GuardedBuffer<Real> y(outputs(s)), without_index(outputs(s));
    GuardedBuffer<std::uint8_t> index(outputs(s));
    kernels.max_pool(y.data(), index.data(), x.data(), s, threads);
    kernels.max_pool(without_index.data(), nullptr, x.data(), s, threads);
    expect_close(floats(y), expected, kExact);
    expect_close(floats(without_index), expected, kExact);
    EXPECT_TRUE(std::equal(index.begin(), index.end(), expected_index.begin()));
    EXPECT_TRUE(y.guards_intact() && index.guards_intact() && without_index.guards_intact());
  });
}

void check_max_pool(const PoolShape& s, const GuardedBuffer<float>& values) {
  check_pool<float>(s, values);
  check_pool<Bf16>(s, values);
}

TEST(MaxPool, MatchesReference) {
  for (const PoolShape& s : test::kMaxPools) check_max_pool(s, random_floats(inputs(s), 2));
}

TEST(MaxPool, TakesTheFirstOfEqualMaxima) {
  for (const PoolShape& s : test::kMaxPools) check_max_pool(s, test::ties(inputs(s)));
}

TEST(MaxPool, KeepsNan) {
  const PoolShape s = pool(1, 4, 4, 18, 2, 2, 0);
  for_each_kernels("", [&](const auto& kernels, int threads) {
    using Real = RealOf<decltype(kernels)>;
    for (std::int64_t pixel : {0, 1, 4, 5}) {  // each position of the first window
      GuardedBuffer<float> values = random_floats(inputs(s), 3);
      values[pixel * 18 + 17] = NAN;
      const GuardedBuffer<Real> x = reals<Real>(values);
      GuardedBuffer<Real> y(outputs(s));
      GuardedBuffer<std::uint8_t> index(outputs(s));
      kernels.max_pool(y.data(), index.data(), x.data(), s, threads);
      for (std::int64_t i = 0; i < outputs(s); ++i) EXPECT_EQ(std::isnan(test::widen(y[i])), i == 17) << i;
      EXPECT_EQ(index[17], pixel / 4 * 2 + pixel % 4);
    }
  });
}

template <typename Real>
void check_max_pool_grad(const PoolShape& s) {
  const GuardedBuffer<float> x = test::ties(inputs(s));
  const GuardedBuffer<Real> dy = random_reals<Real>(outputs(s), 4);
  GuardedBuffer<float> y(outputs(s)), expected(inputs(s));
  GuardedBuffer<std::uint8_t> index(outputs(s));
  reference::max_pool(y.data(), index.data(), x.data(), s);
  reference::max_pool_grad(expected.data(), floats(dy).data(), index.data(), s);
  const double overlaps = std::ceil(static_cast<double>(s.window) / static_cast<double>(s.stride));
  for_each_kernels_of<Real>(describe(s), [&](const cpu::Kernels<Real>& kernels, int threads) {
    GuardedBuffer<Real> dx(inputs(s));
    kernels.max_pool_grad(dx.data(), dy.data(), index.data(), s, threads);
    expect_close(floats(dx), expected, rounded<Real>(test::sum_tolerance(overlaps * overlaps, 1)));
    EXPECT_TRUE(dx.guards_intact());
  });
}

TEST(MaxPoolGrad, MatchesReference) {
  for (const PoolShape& s : test::kMaxPools) {
    check_max_pool_grad<float>(s);
    check_max_pool_grad<Bf16>(s);
  }
}

template <typename Real>
void check_average_pool(const PoolShape& s) {
  const GuardedBuffer<Real> x = random_reals<Real>(inputs(s), 7), dy = random_reals<Real>(outputs(s), 8);
  GuardedBuffer<float> expected(outputs(s)), expected_grad(inputs(s));
  reference::average_pool(expected.data(), floats(x).data(), s);
  reference::average_pool_grad(expected_grad.data(), floats(dy).data(), s);
  const double pixels = static_cast<double>(s.window * s.window);
  for_each_kernels_of<Real>(describe(s), [&](const cpu::Kernels<Real>& kernels, int threads) {
    GuardedBuffer<Real> y(outputs(s)), dx(inputs(s));
    kernels.average_pool(y.data(), x.data(), s, threads);
    kernels.average_pool_grad(dx.data(), dy.data(), s, threads);
    expect_close(floats(y), expected, rounded<Real>(test::mean_tolerance(pixels)));
    expect_close(floats(dx), expected_grad, rounded<Real>(test::mean_tolerance(pixels)));
    EXPECT_TRUE(y.guards_intact() && dx.guards_intact());
  });
}

TEST(AveragePool, ForwardAndGradientMatchReference) {
  for (const PoolShape& s : test::kMeanPools) {
    check_average_pool<float>(s);
    check_average_pool<Bf16>(s);
  }
}

// By hand: of one row 1, 2, 4, pixels outside count, or do not.
TEST(AveragePool, CountsZerosOutsideOrDoesNot) {
  const GuardedBuffer<float> x = [] {
    GuardedBuffer<float> row(3);
    row[0] = 1, row[1] = 2, row[2] = 4;
    return row;
  }();
  for_each_kernels_of<float>("", [&](const cpu::Kernels<float>& kernels, int threads) {
    GuardedBuffer<float> y(3);
    kernels.average_pool(y.data(), x.data(), pool(1, 1, 3, 1, 3, 1, 1), threads);
    EXPECT_THAT((std::vector<float>{y[0], y[1], y[2]}),
                testing::Pointwise(testing::FloatEq(), std::vector<float>{1.5f, 7 / 3.0f, 3}));
    kernels.average_pool(y.data(), x.data(), pool(1, 1, 3, 1, 3, 1, 1, 0, true), threads);
    EXPECT_THAT((std::vector<float>{y[0], y[1], y[2]}),
                testing::Pointwise(testing::FloatEq(), std::vector<float>{3 / 9.0f, 7 / 9.0f, 6 / 9.0f}));
  });
}

struct Images {
  std::int64_t batch, pixels, channels;
};
constexpr Images kImages[] = {{1, 1, 1}, {3, 49, 10}, {2, 64, 64}, {1, 49, 2048}, {7, 5, 65}, {1, 20000, 3}};

template <typename Real>
void check_global_average_pool(const Images& s) {
  const GuardedBuffer<Real> x = random_reals<Real>(s.batch * s.pixels * s.channels, 5);
  const GuardedBuffer<Real> dy = random_reals<Real>(s.batch * s.channels, 6);
  GuardedBuffer<float> expected(s.batch * s.channels), expected_grad(s.batch * s.pixels * s.channels);
  reference::global_average_pool(expected.data(), floats(x).data(), s.batch, s.pixels, s.channels);
  reference::global_average_pool_grad(expected_grad.data(), floats(dy).data(), s.batch, s.pixels, s.channels);
  for_each_kernels_of<Real>(std::to_string(s.pixels), [&](const cpu::Kernels<Real>& kernels, int threads) {
    GuardedBuffer<Real> y(s.batch * s.channels), dx(s.batch * s.pixels * s.channels);
    kernels.global_average_pool(y.data(), x.data(), s.batch, s.pixels, s.channels, threads);
    kernels.global_average_pool_grad(dx.data(), dy.data(), s.batch, s.pixels, s.channels, threads);
    expect_close(floats(y), expected, rounded<Real>({kEps, 0}));
    expect_close(floats(dx), expected_grad, rounded<Real>({kEps, 0}));
    EXPECT_TRUE(y.guards_intact() && dx.guards_intact());
  });
}

TEST(GlobalAveragePool, ForwardAndGradientMatchReference) {
  for (const Images& s : kImages) {
    check_global_average_pool<float>(s);
    check_global_average_pool<Bf16>(s);
  }
}

}  // namespace
}  // namespace epochbench
