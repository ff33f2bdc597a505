// Pooling against the reference: windows that overlap, leave gaps, or extend past the edge, with and without channels that fill
// 16-byte packs.
#include "tests/support/op_test.h"

namespace epochbench {
namespace {

void check_max_pool(const PoolShape& s, const GuardedBuffer<float>& values) {
  for_each_op_element(describe(s), [&](Element element) {
    const Tensor x(values, element);
    GuardedBuffer<float> expected(outputs(s));
    GuardedBuffer<std::uint8_t> expected_index(outputs(s));
    reference::max_pool(expected.data(), expected_index.data(), x.floats().data(), s);
    for_each_device(element, [&](const OpDevice& k) {
      Tensor y(outputs(s), element), without_index(outputs(s), element);
      DeviceBuffer<std::uint8_t> index(outputs(s));
      k.max_pool(y.data(), index.data(), x.data(), s);
      k.max_pool(without_index.data(), nullptr, x.data(), s);
      expect_close(y.floats(), expected, kExact);
      expect_close(without_index.floats(), expected, kExact);
      EXPECT_TRUE(std::equal(index.begin(), index.end(), expected_index.begin()));
      EXPECT_TRUE(y.guards_intact() && index.guards_intact() && without_index.guards_intact());
    });
  });
}

TEST(MaxPool, MatchesReference) {
  for (const PoolShape& s : test::kMaxPools) check_max_pool(s, random_floats(inputs(s), 2));
}

TEST(MaxPool, TakesTheFirstOfEqualMaxima) {
  for (const PoolShape& s : test::kMaxPools) check_max_pool(s, test::ties(inputs(s)));
}

// A window size known at compile time and one that is not; each position of the first window. The lowest representable values
// must not lose to a pixel in the padding.
TEST(MaxPool, KeepsNanAndInfinities) {
  constexpr std::int64_t kChannels = 18, kChannel = 17;
  for (std::int64_t window : {2, 3, 5})
    for_each_op_element("window " + std::to_string(window), [&](Element element) {
      const PoolShape s = pool(1, 2 * window, 2 * window, kChannels, window, window, 0);
      for (std::int64_t position = 0; position < window * window; ++position) {
        GuardedBuffer<float> values(inputs(s));
        std::fill(values.begin(), values.end(), -INFINITY);
        values[(position / window * s.width + position % window) * kChannels + kChannel] = NAN;
        const Tensor x(values, element);
        for_each_device(element, [&](const OpDevice& k) {
          Tensor y(outputs(s), element);
          DeviceBuffer<std::uint8_t> index(outputs(s));
          k.max_pool(y.data(), index.data(), x.data(), s);
          const GuardedBuffer<float> result = y.floats();
          for (std::int64_t i = 0; i < outputs(s); ++i) {
            EXPECT_TRUE(i == kChannel ? std::isnan(result[i]) : result[i] == -INFINITY) << i;
            EXPECT_EQ(index[i], i == kChannel ? position : 0) << i;
          }
        });
      }
    });
}

// Overlapping gradients are added in float and rounded once.
TEST(MaxPool, GradientMatchesReference) {
  for (const PoolShape& s : test::kMaxPools)
    for_each_op_element(describe(s), [&](Element element) {
      const GuardedBuffer<float> x = test::ties(inputs(s));
      const Tensor dy = random_tensor(outputs(s), element, 4);
      GuardedBuffer<float> y(outputs(s)), expected(inputs(s));
      DeviceBuffer<std::uint8_t> index(outputs(s));
      reference::max_pool(y.data(), index.data(), x.data(), s);
      reference::max_pool_grad(expected.data(), dy.floats().data(), index.data(), s);
      const double overlaps = std::ceil(static_cast<double>(s.window) / static_cast<double>(s.stride));
      for_each_device(element, [&](const OpDevice& k) {
        Tensor dx(inputs(s), element);
        k.max_pool_grad(dx.data(), dy.data(), index.data(), s);
        expect_close(dx.floats(), expected, stored(element, test::sum_tolerance(overlaps * overlaps, 1)));
        EXPECT_TRUE(dx.guards_intact());
      });
    });
}

TEST(AveragePool, ForwardAndGradientMatchReference) {
  for (const PoolShape& s : test::kMeanPools)
    for_each_op_element(describe(s), [&](Element element) {
      const Tensor x = random_tensor(inputs(s), element, 7), dy = random_tensor(outputs(s), element, 8);
      GuardedBuffer<float> expected(outputs(s)), expected_grad(inputs(s));
      reference::average_pool(expected.data(), x.floats().data(), s);
      reference::average_pool_grad(expected_grad.data(), dy.floats().data(), s);
      const Tolerance mean = stored(element, test::mean_tolerance(static_cast<double>(s.window * s.window)));
      for_each_device(element, [&](const OpDevice& k) {
        Tensor y(outputs(s), element), dx(inputs(s), element);
        k.average_pool(y.data(), x.data(), s);
        k.average_pool_grad(dx.data(), dy.data(), s);
        expect_close(y.floats(), expected, mean);
        expect_close(dx.floats(), expected_grad, mean);
        EXPECT_TRUE(y.guards_intact() && dx.guards_intact());
      });
    });
}

// By hand: of one row 1, 2, 4, pixels outside count, or do not.
TEST(AveragePool, CountsZerosOutsideOrDoesNot) {
  const Tensor x(std::vector<float>{1, 2, 4}, Element::f32);
  for_each_device(Element::f32, [&](const OpDevice& k) {
    for (const auto& [zeros, means] : {std::pair{false, std::vector<float>{1.5f, 7 / 3.0f, 3}},
                                       std::pair{true, std::vector<float>{3 / 9.0f, 7 / 9.0f, 6 / 9.0f}}}) {
      Tensor y(3, Element::f32);
      k.average_pool(y.data(), x.data(), pool(1, 1, 3, 1, 3, 1, 1, 0, zeros));
      expect_close(y.floats(), means, {2 * kEps, 0});
    }
  });
}

struct Images {
  std::int64_t batch, pixels, channels;
  std::int64_t elements() const { return batch * pixels * channels; }
};
constexpr Images kImages[] = {{1, 1, 1},  {3, 49, 10},  {2, 64, 64},  {1, 49, 520}, {1, 49, 2048},
                              {7, 5, 65}, {1, 5000, 3}, {2, 63, 264}, {1, 20000, 3}};

TEST(GlobalAveragePool, ForwardAndGradientMatchReference) {
  for (const Images& s : kImages)
    for_each_op_element(std::to_string(s.pixels) + "x" + std::to_string(s.channels), [&](Element element) {
      const std::int64_t means = s.batch * s.channels;
      const Tensor x = random_tensor(s.elements(), element, 5), dy = random_tensor(means, element, 6);
      GuardedBuffer<float> expected(means), expected_grad(s.elements());
      reference::global_average_pool(expected.data(), x.floats().data(), s.batch, s.pixels, s.channels);
      reference::global_average_pool_grad(expected_grad.data(), dy.floats().data(), s.batch, s.pixels, s.channels);
      const double pixels = static_cast<double>(s.pixels);
      Tolerance mean = test::sum_tolerance(pixels, std::sqrt(pixels));  // a partial sum is a random walk
      mean.absolute /= pixels;
      mean.relative += kEps;  // from the division
      SameBits same(false);
      for_each_device(element, [&](const OpDevice& k) {
        Tensor y(means, element), dx(s.elements(), element);
        k.global_average_pool(y.data(), x.data(), s.batch, s.pixels, s.channels);
        k.global_average_pool_grad(dx.data(), dy.data(), s.batch, s.pixels, s.channels);
        expect_close(y.floats(), expected, stored(element, mean));
        expect_close(dx.floats(), expected_grad, stored(element, {kEps, 0}));
        EXPECT_TRUE(y.guards_intact() && dx.guards_intact());
        same.expect(k, y.floats());
      });
    });
}

}  // namespace
}  // namespace epochbench
