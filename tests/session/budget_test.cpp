// The time that all cases of a run may take together, by a clock of the test's own.
#include <gtest/gtest.h>

#include "src/session/measuring.h"

namespace epochbench {
namespace {

TEST(Budget, IsOverOnceItsSecondsHavePassed) {
  double now = 1000;
  const Budget budget(60, [&] { return now; });
  EXPECT_FALSE(budget.over());
  now += 59.9;
  EXPECT_FALSE(budget.over());
  now += 0.1;
  EXPECT_TRUE(budget.over());
}

TEST(Budget, IsNeverOverWithoutSeconds) {
  double now = 0;
  const Budget budget(std::nullopt, [&] { return now; });
  now = 1e9;
  EXPECT_FALSE(budget.over());
}

TEST(Budget, SaysWhetherTheCaseHadBegun) {
  const Budget budget(3600);
  EXPECT_EQ(budget.reason(false), "the budget of 1.00 h was over before this case began");
  EXPECT_EQ(budget.reason(true), "the budget of 1.00 h was over before this case ended");
}

}  // namespace
}  // namespace epochbench
