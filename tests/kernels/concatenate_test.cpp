// Concatenation on the CPU and its gradient, exactly as the reference.
#include <numeric>

#include <gmock/gmock.h>

#include "tests/support/kernel_test.h"

namespace epochbench {
namespace {

struct Concatenation {
  std::int64_t rows;
  std::vector<std::int64_t> channels;
  std::int64_t all() const { return rows * std::accumulate(channels.begin(), channels.end(), std::int64_t{0}); }
};
const Concatenation kCases[] = {
    {1, {1}},                        // smallest
    {5, {3, 1, 7}},                  // odd sizes
    {49, {44, 44, 44, 44, 44, 44}},  // a cell of NASNet
    {3, {1, 2, 3, 4, 5, 6, 7, 8}},   // as many parts as there may be
    {600, {64, 16}},                 // for several threads
    {2, {1000, 8, 1}},
};

// All parts, one after the other.
template <typename Real>
ChannelParts<Real*> parts_in(GuardedBuffer<Real>& all, const Concatenation& c) {
  ChannelParts<Real*> parts;
  Real* at = all.data();
  for (std::int64_t channels : c.channels) {
    parts.part[parts.count] = at;
    parts.channels[parts.count++] = channels;
    at += c.rows * channels;
  }
  return parts;
}
template <typename Real>
ChannelParts<const Real*> constant(const ChannelParts<Real*>& parts) {
  ChannelParts<const Real*> result;
  std::copy(std::begin(parts.part), std::end(parts.part), result.part);
  std::copy(std::begin(parts.channels), std::end(parts.channels), result.channels);
  result.count = parts.count;
  return result;
}

template <typename Real>
class Concatenate : public test::OfReal<Real> {};
TYPED_TEST_SUITE(Concatenate, test::Reals, test::RealName);

TYPED_TEST(Concatenate, PutsRowsSideBySide) {
  using Real = TypeParam;
  for (const Concatenation& c : kCases) {
    GuardedBuffer<Real> x = random_reals<Real>(c.all(), 1);
    GuardedBuffer<float> values = floats(x), expected(c.all());
    reference::concatenate(expected.data(), constant(parts_in(values, c)), c.rows);
    for_each_kernels_of<Real>(std::to_string(c.all()), [&](const cpu::Kernels<Real>& kernels, int threads) {
      GuardedBuffer<Real> y(c.all());
      kernels.concatenate(y.data(), constant(parts_in(x, c)), c.rows, threads);
      expect_close(floats(y), expected, kExact);
      EXPECT_TRUE(y.guards_intact());
    });
  }
}

TYPED_TEST(Concatenate, GradientTakesThemApart) {
  using Real = TypeParam;
  for (const Concatenation& c : kCases) {
    const GuardedBuffer<Real> dy = random_reals<Real>(c.all(), 2);
    GuardedBuffer<float> expected(c.all());
    reference::concatenate_grad(parts_in(expected, c), floats(dy).data(), c.rows);
    for_each_kernels_of<Real>(std::to_string(c.all()), [&](const cpu::Kernels<Real>& kernels, int threads) {
      GuardedBuffer<Real> dx(c.all());
      kernels.concatenate_grad(parts_in(dx, c), dy.data(), c.rows, threads);
      expect_close(floats(dx), expected, kExact);
      EXPECT_TRUE(dx.guards_intact());
    });
  }
}

// By hand, and a part that nothing reads.
TYPED_TEST(Concatenate, LeavesOutAPartThatNothingReads) {
  using Real = TypeParam;
  const Concatenation c{2, {1, 2}};
  GuardedBuffer<float> numbers(6);
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  const GuardedBuffer<Real> dy = reals<Real>(numbers);
  for_each_kernels_of<Real>("", [&](const cpu::Kernels<Real>& kernels, int threads) {
    GuardedBuffer<Real> dx(6);
    ChannelParts<Real*> parts = parts_in(dx, c);
    parts.part[0] = nullptr;
    kernels.concatenate_grad(parts, dy.data(), c.rows, threads);
    const GuardedBuffer<float> result = floats(dx);
    EXPECT_TRUE(std::isnan(result[0]) && std::isnan(result[1]));  // as before the call
    EXPECT_THAT((std::vector<float>{result[2], result[3], result[4], result[5]}), testing::ElementsAre(1, 2, 4, 5));
  });
}

}  // namespace
}  // namespace epochbench
