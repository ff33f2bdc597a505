#include "src/analysis/verify/identities.h"

#include <gtest/gtest.h>

namespace epochbench {
namespace {

TEST(Identities, TellACopyFromAnotherMeasurement) {
  const std::vector<double> steps{0.0101, 0.0103, 0.0102};
  EXPECT_TRUE(is_multiple(steps, steps));
  EXPECT_TRUE(is_multiple({0.0202, 0.0206, 0.0204}, steps));
  EXPECT_FALSE(is_multiple({0.0102, 0.0103, 0.0102}, steps));
  EXPECT_FALSE(is_multiple({0.01, 0.01, 0.01}, {0.01, 0.01, 0.01})) << "so long is a tick of some clocks";
  EXPECT_FALSE(is_multiple({0.0101, 0.0103}, {0.0101, 0.0103})) << "too few to tell";
}

}  // namespace
}  // namespace epochbench
