// Dropout of elements and of samples against the reference, and the reference against the definition in kernels/shapes.h,
// written out here with the project's scalar Philox.
#include "epochbench/philox.h"
#include "tests/support/op_test.h"

namespace epochbench {
namespace {

constexpr std::int64_t kSizes[] = {0,  1,    2,    3,    4,    5,    7,    8,    9,    31,   32,   33,   63,
                                   65, 1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096, 4097, 5003, 20011};

Dropout dropout_with(double probability, std::uint64_t seed, std::uint32_t ordinal, std::int64_t first = 0) {
  return {seed, ordinal, static_cast<std::uint32_t>(std::lround(probability * 0x1p32)),
          static_cast<float>(1 / (1 - probability)), first};
}

const Dropout kDropouts[] = {dropout_with(0.1, 0, 5),
                             dropout_with(0.5, 0xfedcba9876543210u, 0xffffffffu, 1003),
                             dropout_with(0.999, 1, 0, 6),
                             {3, 2, 0, 1.0f, 3003}};
constexpr std::int32_t kSteps[] = {0, 1, 123456789, 2147483647};

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

TEST(ReferenceDropout, MatchesItsDefinition) {
  for (std::int64_t n : kSizes)
    for (std::size_t i = 0; i < std::size(kDropouts); ++i) {
      const GuardedBuffer<float> x = random_floats(n, 10 + i);
      GuardedBuffer<float> y(n);
      reference::dropout(y.data(), x.data(), &kSteps[i], kDropouts[i], n);
      EXPECT_TRUE(bit_equal(y, defined(x, kSteps[i], kDropouts[i])));
    }
}

TEST(ReferenceDropout, DropsTheRequestedFractionAndKeepsTheMean) {
  constexpr std::int64_t kElements = 400000;
  GuardedBuffer<float> ones(kElements), y(kElements);
  std::fill(ones.begin(), ones.end(), 1.0f);
  const std::int32_t step = 7;
  for (double probability : {0.1, 0.5, 0.9}) {
    reference::dropout(y.data(), ones.data(), &step, dropout_with(probability, 42, 3), kElements);
    const auto dropped = static_cast<double>(std::count(y.begin(), y.end(), 0.0f));
    const double deviation = std::sqrt(probability * (1 - probability) * kElements);
    EXPECT_NEAR(dropped, probability * kElements, 4 * deviation);
    for (float value : y) ASSERT_TRUE(value == 0 || value == static_cast<float>(1 / (1 - probability)));
  }
}

TEST(ReferenceDropout, MasksDifferByStepOrdinalAndSeed) {
  constexpr std::int64_t kElements = 1000;
  GuardedBuffer<float> ones(kElements);
  std::fill(ones.begin(), ones.end(), 1.0f);
  const auto mask = [&](std::uint64_t seed, std::uint32_t ordinal, std::int32_t step) {
    GuardedBuffer<float> y(kElements);
    reference::dropout(y.data(), ones.data(), &step, dropout_with(0.5, seed, ordinal), kElements);
    return y;
  };
  const GuardedBuffer<float> first = mask(1, 1, 1);
  for (const GuardedBuffer<float>& other : {mask(1, 1, 2), mask(1, 2, 1), mask(2, 1, 1), mask(1 + (1ull << 32), 1, 1)}) {
    std::int64_t differ = 0;
    for (std::int64_t i = 0; i < kElements; ++i) differ += first[i] != other[i];
    EXPECT_NEAR(static_cast<double>(differ), 500, 80);  // five standard deviations
  }
}

TEST(Dropout, DrawsTheMasksOfTheReference) {
  for (std::int64_t n : kSizes)
    for_each_op_element(std::to_string(n), [&](Element element) {
      for (std::size_t i = 0; i < std::size(kDropouts); ++i) {
        const Tensor x = random_tensor(n, element, 12 + i);
        const DeviceBuffer<std::int32_t> step = on_device<std::int32_t>({&kSteps[i], 1});
        GuardedBuffer<float> values(n);
        reference::dropout(values.data(), x.floats().data(), &kSteps[i], kDropouts[i], n);
        const GuardedBuffer<float> expected = Tensor(values, element).floats();
        for_each_device(element, [&](const OpDevice& k) {
          Tensor y(n, element), in_place = x;
          k.dropout(y.data(), x.data(), step.data(), kDropouts[i], n);
          k.dropout(in_place.data(), in_place.data(), step.data(), kDropouts[i], n);
          EXPECT_TRUE(bit_equal(y.floats(), expected) && bit_equal(in_place.floats(), expected));
          EXPECT_TRUE(y.guards_intact() && in_place.guards_intact());
        });
      }
    });
}

TEST(Dropout, WhatIsDroppedIsZeroEvenANan) {
  GuardedBuffer<float> x = random_floats(200, 20);
  const Dropout dropout = dropout_with(0.5, 4, 4);
  const std::int32_t zero = 0;
  const DeviceBuffer<std::int32_t> step = on_device<std::int32_t>({&zero, 1});
  const GuardedBuffer<float> kept = defined(x, zero, dropout);
  std::fill(x.begin(), x.end(), NAN);
  for_each_op_element("", [&](Element element) {
    const Tensor values(x, element);
    for_each_device(element, [&](const OpDevice& k) {
      Tensor y(200, element);
      k.dropout(y.data(), values.data(), step.data(), dropout, 200);
      const GuardedBuffer<float> result = y.floats();
      for (std::int64_t i = 0; i < 200; ++i) EXPECT_TRUE(kept[i] == 0 ? result[i] == 0 : std::isnan(result[i])) << i;
    });
  });
}

// Sample i as element i of dropout; what is dropped is 0, even a NaN. Samples that packs of elements divide, and others.
TEST(Dropout, DropsSamplesAsElements) {
  const Dropout dropout{7, 3, 0x60000000u, 1.6f};
  const DeviceBuffer<std::int32_t> step = on_device<std::int32_t>(std::vector<std::int32_t>{5});
  for (const auto& [batch, n] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {9, 17}, {5, 4100}, {16, 64}, {40, 3}})
    for_each_op_element(std::to_string(n), [&, batch = batch, n = n](Element element) {
      const Tensor x = random_tensor(batch * n, element, 8);
      GuardedBuffer<float> values = x.floats(), ones(batch), factors(batch), expected(batch * n), oracle(batch * n);
      std::fill(ones.begin(), ones.end(), 1.0f);
      reference::dropout(factors.data(), ones.data(), step.data(), dropout, batch);
      for (std::int64_t i = 0; i < batch * n; ++i) expected[i] = values[i] * factors[i / n];
      reference::stochastic_depth(oracle.data(), values.data(), step.data(), dropout, batch, n);
      expect_close(oracle, expected, kExact);
      for (std::int64_t i = 0; i < batch * n; ++i)
        if (factors[i / n] == 0) values[i] = NAN;
      const Tensor with_nan(values, element);
      for_each_device(element, [&](const OpDevice& k) {
        Tensor y(batch * n, element), in_place = with_nan;
        k.stochastic_depth(y.data(), x.data(), step.data(), dropout, batch, n);
        k.stochastic_depth(in_place.data(), in_place.data(), step.data(), dropout, batch, n);
        expect_close(y.floats(), expected, stored(element, kExact));
        EXPECT_TRUE(bit_equal(in_place.floats(), y.floats()));
        EXPECT_TRUE(y.guards_intact() && in_place.guards_intact());
      });
    });
}

}  // namespace
}  // namespace epochbench
