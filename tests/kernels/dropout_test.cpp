// Dropout on the CPU against the definition in kernels/shapes.h, written out here with the project's scalar Philox.
#include "epochbench/philox.h"
#include "tests/support/kernel_test.h"

namespace epochbench {
namespace {

constexpr std::int64_t kSizes[] = {1, 2, 3, 4, 5, 7, 31, 32, 33, 63, 65, 1023, 1024, 1025, 4096, 5003, 20011};

Dropout of(double probability, std::uint64_t seed, std::uint32_t ordinal) {
  return {seed, ordinal, static_cast<std::uint32_t>(std::lround(probability * 0x1p32)),
          static_cast<float>(1 / (1 - probability))};
}

GuardedBuffer<float> defined(const GuardedBuffer<float>& x, std::int32_t step, const Dropout& dropout) {
  GuardedBuffer<float> y(static_cast<std::int64_t>(x.size()));
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(x.size()); ++i) {
    const std::int64_t element = dropout.first + i;
    const PhiloxBlock random = philox(dropout.seed, {static_cast<std::uint32_t>(element / 4), static_cast<std::uint32_t>(step),
                                                     dropout.ordinal, static_cast<std::uint32_t>(RandomStream::dropout)});
    y[i] = random[static_cast<std::size_t>(element % 4)] >= dropout.threshold ? x[i] * dropout.scale : 0;
  }
  return y;
}

template <typename Real>
class CpuDropout : public test::OfReal<Real> {};
TYPED_TEST_SUITE(CpuDropout, test::Reals, test::RealName);

TYPED_TEST(CpuDropout, MatchesItsDefinitionAtEverySize) {
  using Real = TypeParam;
  Dropout dropouts[] = {of(0.1, 0, 5), of(0.5, 0xfedcba9876543210u, 0xffffffffu), of(0.999, 1, 0), {3, 2, 0, 1.0f}};
  dropouts[1].first = 1003;
  dropouts[2].first = 6;
  const std::int32_t steps[] = {0, 1, 123456789, 2147483647};
  for (std::int64_t n : kSizes)
    for (std::size_t i = 0; i < std::size(dropouts); ++i) {
      const GuardedBuffer<Real> x_real = random_reals<Real>(n, 10 + i);
      const GuardedBuffer<float> x = floats(x_real), defined_y = defined(x, steps[i], dropouts[i]);
      GuardedBuffer<float> oracle(n);
      reference::dropout(oracle.data(), x.data(), &steps[i], dropouts[i], n);
      EXPECT_TRUE(test::bit_equal(oracle, defined_y));
      const GuardedBuffer<Real> expected = reals<Real>(defined_y);
      for_each_kernels_of<Real>("n=" + std::to_string(n), [&](const cpu::Kernels<Real>& kernels, int threads) {
        GuardedBuffer<Real> y(n), in_place = x_real;
        kernels.dropout(y.data(), x_real.data(), &steps[i], dropouts[i], n, threads);
        kernels.dropout(in_place.data(), in_place.data(), &steps[i], dropouts[i], n, threads);
        EXPECT_TRUE(test::bit_equal(y, expected));
        EXPECT_TRUE(test::bit_equal(in_place, expected));
        EXPECT_TRUE(y.guards_intact());
      });
    }
}

TEST(Dropout, DropsTheRequestedFractionAndKeepsTheMean) {
  constexpr std::int64_t kElements = 400000;
  GuardedBuffer<float> ones(kElements), y(kElements);
  std::fill(ones.begin(), ones.end(), 1.0f);
  const std::int32_t step = 7;
  for (double probability : {0.1, 0.5, 0.9}) {
    cpu::best_kernels<float>()->dropout(y.data(), ones.data(), &step, of(probability, 42, 3), kElements, 2);
    const auto dropped = static_cast<double>(std::count(y.begin(), y.end(), 0.0f));
    const double deviation = std::sqrt(probability * (1 - probability) * kElements);
    EXPECT_NEAR(dropped, probability * kElements, 4 * deviation);
    for (float value : y) ASSERT_TRUE(value == 0 || value == static_cast<float>(1 / (1 - probability)));
  }
}

TEST(Dropout, MasksDifferByStepOrdinalAndSeed) {
  constexpr std::int64_t kElements = 1000;
  GuardedBuffer<float> ones(kElements);
  std::fill(ones.begin(), ones.end(), 1.0f);
  const auto mask = [&](std::uint64_t seed, std::uint32_t ordinal, std::int32_t step) {
    GuardedBuffer<float> y(kElements);
    cpu::best_kernels<float>()->dropout(y.data(), ones.data(), &step, of(0.5, seed, ordinal), kElements, 1);
    return y;
  };
  const GuardedBuffer<float> first = mask(1, 1, 1);
  for (const GuardedBuffer<float>& other : {mask(1, 1, 2), mask(1, 2, 1), mask(2, 1, 1), mask(1 + (1ull << 32), 1, 1)}) {
    std::int64_t differ = 0;
    for (std::int64_t i = 0; i < kElements; ++i) differ += first[i] != other[i];
    EXPECT_NEAR(static_cast<double>(differ), 500, 80);  // five standard deviations
  }
}

TYPED_TEST(CpuDropout, WhatIsDroppedIsZeroEvenANan) {
  using Real = TypeParam;
  GuardedBuffer<float> x = random_floats(200, 20);
  const Dropout dropout = of(0.5, 4, 4);
  const std::int32_t step = 0;
  const GuardedBuffer<float> kept = defined(x, step, dropout);
  const auto is_zero = [](float value) { return value == 0; };
  const std::int64_t dropped = std::find_if(kept.begin(), kept.end(), is_zero) - kept.begin();
  const std::int64_t survivor = std::find_if_not(kept.begin(), kept.end(), is_zero) - kept.begin();
  x[dropped] = x[survivor] = NAN;
  const GuardedBuffer<Real> x_real = reals<Real>(x);
  for_each_kernels_of<Real>("", [&](const cpu::Kernels<Real>& kernels, int threads) {
    GuardedBuffer<Real> y(200);
    kernels.dropout(y.data(), x_real.data(), &step, dropout, 200, threads);
    EXPECT_EQ(test::widen(y[dropped]), 0);
    EXPECT_TRUE(std::isnan(test::widen(y[survivor])));
  });
}

}  // namespace
}  // namespace epochbench
