// Philox against the published vectors of Random123 (Salmon et al., kat_vectors), and the normal numbers made of it.
#include "epochbench/philox.h"

#include <cmath>

#include <gtest/gtest.h>

namespace epochbench {
namespace {

TEST(Philox, MatchesPublishedVectors) {
  EXPECT_EQ(philox(0, {0, 0, 0, 0}), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(0xffffffffffffffff, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  // Key numbers a4093822 299f31d0, the low one first.
  EXPECT_EQ(philox(0x299f31d0a4093822, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, Uniform01IsInsideTheOpenInterval) {
  EXPECT_GT(uniform01(0), 0);
  EXPECT_LT(uniform01(0xffffffff), 1);
  EXPECT_DOUBLE_EQ(uniform01(0x80000000), 0.5 + 0x1p-33);
}

TEST(Philox, NormalPairIsBoxMuller) {
  // Radius and angle are independent: the first word alone sets a^2 + b^2, the second the direction.
  for (std::uint32_t word : {0u, 1u, 12345u, 0x7fffffffu, 0xffffffffu}) {
    const auto [a, b] = normal_pair(word, 0x20000000u);  // an eighth of the turn: both are equal
    EXPECT_NEAR(a, b, 1e-7);
    EXPECT_NEAR(a * a + b * b, -2 * std::log((word + 0.5) / 4294967296.0), 1e-9);
  }
  EXPECT_LT(std::abs(normal_pair(0, 0)[0]), 6.8);
}

TEST(Philox, NormalNumbersHaveTheMomentsOfNormal) {
  constexpr int kBlocks = 50000;
  double sum = 0, squares = 0, fourths = 0, products = 0;
  for (std::uint32_t i = 0; i < kBlocks; ++i) {
    const PhiloxBlock numbers = philox(7, {i, 0, 0, 0});
    const auto [a, b] = normal_pair(numbers[0], numbers[1]);
    sum += a + b;
    squares += a * a + b * b;
    fourths += a * a * a * a + b * b * b * b;
    products += a * b;
  }
  constexpr double kCount = 2 * kBlocks;  // tolerances: about five standard errors
  EXPECT_NEAR(sum / kCount, 0, 5 / std::sqrt(kCount));
  EXPECT_NEAR(squares / kCount, 1, 5 * std::sqrt(2 / kCount));
  EXPECT_NEAR(fourths / kCount, 3, 5 * std::sqrt(96 / kCount));
  EXPECT_NEAR(products / kBlocks, 0, 5 / std::sqrt(kBlocks));
}

TEST(Philox, NameHashIsFnv1a) {
  EXPECT_EQ(name_hash(""), 0x811c9dc5u);
  EXPECT_EQ(name_hash("a"), 0xe40c292cu);
  EXPECT_EQ(name_hash("foobar"), 0xbf9cf968u);
}

}  // namespace
}  // namespace epochbench
