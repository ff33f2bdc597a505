// What a profile keeps of several passes.
#include <gtest/gtest.h>

#include "src/backend/host/compiled_entry.h"

namespace epochbench {
namespace {

double kept_seconds(const std::vector<double>& passes) {
  std::vector<NodeTime> nodes(2);
  PassTimes times(2, static_cast<int>(passes.size()));
  for (const double seconds : passes) {
    times.add(0, 100);
    times.add(1, seconds);
  }
  times.set_medians(nodes);
  EXPECT_EQ(nodes[0].seconds, passes.empty() ? 0 : 100);
  return nodes[1].seconds;
}

TEST(PassTimes, OfANodeTheMedianIsKept) {
  EXPECT_EQ(kept_seconds({5, 1, 9}), 5);
  EXPECT_EQ(kept_seconds({9, 1, 2, 4}), 3) << "between the middle two";
  EXPECT_EQ(kept_seconds({7}), 7);
  EXPECT_EQ(kept_seconds({}), 0);
}

}  // namespace
}  // namespace epochbench
