// The order in which an epoch visits the samples.
#include "src/data/order.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <gtest/gtest.h>

namespace epochbench {
namespace {

TEST(Permute, HoldsEverySampleOnceAndDiffersByEpochAndSeed) {
  std::set<std::vector<std::uint32_t>> seen;
  for (std::uint64_t seed : {0ull, 1ull, 1ull << 40}) {
    for (std::uint64_t epoch : {0ull, 1ull, 2ull, 1ull << 32}) {
      std::vector<std::uint32_t> order(101);
      permute(order, seed, epoch);
      EXPECT_TRUE(seen.insert(order).second) << seed << " " << epoch;
      std::sort(order.begin(), order.end());
      for (std::uint32_t i = 0; i < 101; ++i) ASSERT_EQ(order[i], i);
    }
  }
}

TEST(Permute, GivesEveryPermutationEquallyOften) {
  std::map<std::vector<std::uint32_t>, int> counts;
  for (std::uint64_t epoch = 0; epoch < 24000; ++epoch) {
    std::vector<std::uint32_t> order(4);
    permute(order, 5, epoch);
    ++counts[order];
  }
  EXPECT_EQ(counts.size(), 24u);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 5 * std::sqrt(1000.0));
}

TEST(Permute, OfNoneAndOne) {
  permute({}, 0, 0);
  std::vector<std::uint32_t> one(1, 9);
  permute(one, 0, 0);
  EXPECT_EQ(one[0], 0u);
}

}  // namespace
}  // namespace epochbench
