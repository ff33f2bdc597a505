#include <numeric>
#include <stdexcept>

#include <gtest/gtest.h>

#include "src/worker/run_totals.h"

namespace epochbench {
namespace {

std::vector<double> one_to(int n) {  // descending
  std::vector<double> values(static_cast<std::size_t>(n));
  std::iota(values.rbegin(), values.rend(), 1.0);
  return values;
}

TEST(Latency, QuantilesLieBetweenNeighbors) {
  const Latency latency = latency_of(one_to(101));
  EXPECT_EQ(latency.samples, 101);
  EXPECT_DOUBLE_EQ(latency.p50_seconds.value(), 51);
  EXPECT_DOUBLE_EQ(latency.p90_seconds.value(), 91);
  EXPECT_DOUBLE_EQ(latency.p99_seconds.value(), 100);
  EXPECT_EQ(latency.worst_seconds, 101);
  EXPECT_DOUBLE_EQ(latency_of(one_to(100)).p50_seconds.value(), 50.5);
}

TEST(Latency, AQuantileNeedsASampleBeyondIt) {
  EXPECT_FALSE(latency_of(one_to(99)).p99_seconds);
  EXPECT_TRUE(latency_of(one_to(100)).p99_seconds);
  EXPECT_FALSE(latency_of(one_to(9)).p90_seconds);
  EXPECT_TRUE(latency_of(one_to(10)).p90_seconds);
  const Latency one = latency_of({0.25});
  EXPECT_FALSE(one.p50_seconds || one.p90_seconds || one.p99_seconds);
  EXPECT_EQ(one.worst_seconds, 0.25);
  EXPECT_THROW(latency_of({}), std::invalid_argument);
}

TEST(Latency, KeepsTheSamplesInTheirOrder) { EXPECT_EQ(latency_of({3, 1, 2}).step_seconds, (std::vector<double>{3, 1, 2})); }

}  // namespace
}  // namespace epochbench
