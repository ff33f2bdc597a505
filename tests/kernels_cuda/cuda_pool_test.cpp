// Pooling in CUDA against the reference: windows that overlap, leave gaps, or extend past the edge, with and without channels
// that fill 16-byte packs.
#include "tests/support/cuda_kernel_test.h"

namespace epochbench {
namespace {

void check_max_pool(const PoolShape& s, const GuardedBuffer<float>& values) {
  for_each_element(describe(s), [&](Element element) {
    const Tensor x(values, element);
    GuardedBuffer<float> expected(outputs(s));
    GuardedBuffer<std::uint8_t> expected_index(outputs(s));
    reference::max_pool(expected.data(), expected_index.data(), x.floats().data(), s);
    for_each_order("", [&] {
      Tensor y(outputs(s), element), without_index(outputs(s), element);
      DeviceBuffer<std::uint8_t> index(outputs(s));
      cuda::max_pool(y.data(), index.data(), x.data(), s, element, kNoStream);
      cuda::max_pool(without_index.data(), nullptr, x.data(), s, element, kNoStream);
      expect_close(y.floats(), expected, kExact);
      expect_close(without_index.floats(), expected, kExact);
      EXPECT_TRUE(std::equal(index.begin(), index.end(), expected_index.begin()));
      EXPECT_TRUE(y.guards_intact() && index.guards_intact() && without_index.guards_intact());
    });
  });
}

TEST(CudaMaxPool, MatchesReference) {
  for (const PoolShape& s : test::kMaxPools) check_max_pool(s, random_floats(inputs(s), 2));
}

TEST(CudaMaxPool, TakesTheFirstOfEqualMaxima) {
  for (const PoolShape& s : test::kMaxPools) check_max_pool(s, test::ties(inputs(s)));
}

// A window size known at compile time and one that is not; each position of the first window. The lowest representable
// values must not lose to a pixel in the padding.
TEST(CudaMaxPool, KeepsNanAndInfinities) {
  constexpr std::int64_t kChannels = 17, kChannel = 16;
  for (std::int64_t window : {2, 3, 5})
    for_each_element("window " + std::to_string(window), [&](Element element) {
      const PoolShape s = pool(1, 2 * window, 2 * window, kChannels, window, window, 0);
      for (std::int64_t position = 0; position < window * window; ++position) {
        GuardedBuffer<float> values(inputs(s));
        std::fill(values.begin(), values.end(), -INFINITY);
        values[(position / window * s.width + position % window) * kChannels + kChannel] = NAN;
        const Tensor x(values, element);
        Tensor y(outputs(s), element);
        DeviceBuffer<std::uint8_t> index(outputs(s));
        cuda::max_pool(y.data(), index.data(), x.data(), s, element, kNoStream);
        const GuardedBuffer<float> result = y.floats();
        for (std::int64_t i = 0; i < outputs(s); ++i) {
          if (i == kChannel)
            EXPECT_TRUE(std::isnan(result[i])) << position;
          else
            EXPECT_EQ(result[i], -INFINITY) << i;
          EXPECT_EQ(index[i], i == kChannel ? position : 0) << i;
        }
      }
    });
}

// Overlapping gradients are added in float and rounded once.
TEST(CudaMaxPoolGrad, MatchesReference) {
  for (const PoolShape& s : test::kMaxPools)
    for_each_element(describe(s), [&](Element element) {
      const GuardedBuffer<float> x = test::ties(inputs(s));
      const Tensor dy = random_tensor(outputs(s), element, 4);
      GuardedBuffer<float> y(outputs(s)), expected(inputs(s));
      DeviceBuffer<std::uint8_t> index(outputs(s));
      reference::max_pool(y.data(), index.data(), x.data(), s);
      reference::max_pool_grad(expected.data(), dy.floats().data(), index.data(), s);
      const double overlaps = std::ceil(static_cast<double>(s.window) / static_cast<double>(s.stride));
      for_each_order("", [&] {
        Tensor dx(inputs(s), element);
        cuda::max_pool_grad(dx.data(), dy.data(), index.data(), s, element, kNoStream);
        expect_close(dx.floats(), expected, stored(element, test::sum_tolerance(overlaps * overlaps, 1)));
        EXPECT_TRUE(dx.guards_intact());
      });
    });
}

TEST(CudaAveragePool, MatchesReference) {
  for (const PoolShape& s : test::kMeanPools)
    for_each_element(describe(s), [&](Element element) {
      const Tensor x = random_tensor(inputs(s), element, 7);
      GuardedBuffer<float> expected(outputs(s));
      reference::average_pool(expected.data(), x.floats().data(), s);
      for_each_order("", [&] {
        Tensor y(outputs(s), element);
        cuda::average_pool(y.data(), x.data(), s, element, kNoStream);
        expect_close(y.floats(), expected, stored(element, test::mean_tolerance(static_cast<double>(s.window * s.window))));
        EXPECT_TRUE(y.guards_intact());
      });
    });
}

TEST(CudaAveragePoolGrad, MatchesReference) {
  for (const PoolShape& s : test::kMeanPools)
    for_each_element(describe(s), [&](Element element) {
      const Tensor dy = random_tensor(outputs(s), element, 8);
      GuardedBuffer<float> expected(inputs(s));
      reference::average_pool_grad(expected.data(), dy.floats().data(), s);
      for_each_order("", [&] {
        Tensor dx(inputs(s), element);
        cuda::average_pool_grad(dx.data(), dy.data(), s, element, kNoStream);
        expect_close(dx.floats(), expected, stored(element, test::mean_tolerance(static_cast<double>(s.window * s.window))));
        EXPECT_TRUE(dx.guards_intact());
      });
    });
}

struct Images {
  std::int64_t batch, pixels, channels;
};
constexpr Images kImages[] = {{1, 1, 1}, {3, 49, 10}, {2, 64, 64}, {1, 49, 520}, {7, 5, 65}, {1, 5000, 3}, {2, 63, 264}};

std::string describe(const Images& s) {
  return std::to_string(s.batch) + "x" + std::to_string(s.pixels) + "x" + std::to_string(s.channels);
}

TEST(CudaGlobalAveragePool, MatchesReference) {
  for (const Images& s : kImages)
    for_each_element(describe(s), [&](Element element) {
      const Tensor x = random_tensor(s.batch * s.pixels * s.channels, element, 5);
      GuardedBuffer<float> expected(s.batch * s.channels), first(s.batch * s.channels);
      reference::global_average_pool(expected.data(), x.floats().data(), s.batch, s.pixels, s.channels);
      const double pixels = static_cast<double>(s.pixels);
      Tolerance mean = test::sum_tolerance(pixels, std::sqrt(pixels));  // a partial sum is a random walk
      mean.absolute /= pixels;
      mean.relative += test::kEps;  // from the division
      for_each_order("", [&] {
        Tensor y(s.batch * s.channels, element);
        cuda::global_average_pool(y.data(), x.data(), s.batch, s.pixels, s.channels, element, kNoStream);
        expect_close(y.floats(), expected, stored(element, mean));
        EXPECT_TRUE(y.guards_intact());
        if (std::isnan(first[0])) first = y.floats();
        EXPECT_TRUE(bit_equal(y.floats(), first));
      });
    });
}

TEST(CudaGlobalAveragePoolGrad, MatchesReference) {
  for (const Images& s : kImages)
    for_each_element(describe(s), [&](Element element) {
      const Tensor dy = random_tensor(s.batch * s.channels, element, 6);
      GuardedBuffer<float> expected(s.batch * s.pixels * s.channels);
      reference::global_average_pool_grad(expected.data(), dy.floats().data(), s.batch, s.pixels, s.channels);
      for_each_order("", [&] {
        Tensor dx(s.batch * s.pixels * s.channels, element);
        cuda::global_average_pool_grad(dx.data(), dy.data(), s.batch, s.pixels, s.channels, element, kNoStream);
        expect_close(dx.floats(), expected, stored(element, {kEps, 0}));
        EXPECT_TRUE(dx.guards_intact());
      });
    });
}

}  // namespace
}  // namespace epochbench
