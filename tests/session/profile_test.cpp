// Where a step's time goes: class sums and limits from nodes, and what a person reads of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/report/text/result_text.h"
#include "src/session/finished_run.h"

namespace epochbench {
namespace {

using testing::HasSubstr;
using testing::Not;

ProfileNode node(const std::string& name, const std::string& op, double seconds, double flops, double bytes) {
  ProfileNode made;
  made.name = name;
  made.op = op;
  made.implementation = "kernel of " + op;
  made.seconds = seconds;
  made.flops = flops;
  made.bytes = bytes;
  return made;
}

// A machine of 100 FLOP/s and 10 B/s: ten FLOPs a byte is where computing begins to take longer.
Profile example() {
  Profile profile;
  profile.nodes = {node("a", "matmul", 4, 200, 10), node("view", "reshape", 0, 0, 0), node("r", "relu", 2, 0, 10),
                   node("b", "matmul", 6, 100, 50)};
  return profile;
}

TEST(Profile, LimitOfANodeIsTheLongerOfItsTwo) {
  Profile profile = example();
  complete_profile(profile, {100.0, 10.0});
  ASSERT_EQ(profile.nodes.size(), 3u) << "a view moves nothing";
  EXPECT_EQ(profile.nodes[0].limit, NodeLimit::compute);
  EXPECT_DOUBLE_EQ(*profile.nodes[0].limit_seconds, 2);
  EXPECT_DOUBLE_EQ(*profile.nodes[0].limit_fraction, 0.5);
  EXPECT_EQ(profile.nodes[1].limit, NodeLimit::memory);
  EXPECT_DOUBLE_EQ(*profile.nodes[1].limit_seconds, 1);
  EXPECT_EQ(profile.nodes[2].limit, NodeLimit::memory);
  EXPECT_DOUBLE_EQ(*profile.nodes[2].limit_seconds, 5);
}

TEST(Profile, ClassesSumTheirNodesAndComeSlowestFirst) {
  Profile profile = example();
  complete_profile(profile, {100.0, 10.0});
  EXPECT_DOUBLE_EQ(profile.seconds, 12);
  ASSERT_EQ(profile.classes.size(), 2u);
  const ProfileClass& matmul = profile.classes[0];
  EXPECT_EQ(matmul.op, "matmul");
  EXPECT_EQ(matmul.nodes, 2);
  EXPECT_DOUBLE_EQ(matmul.seconds, 10);
  EXPECT_DOUBLE_EQ(matmul.share, 10.0 / 12);
  EXPECT_DOUBLE_EQ(*matmul.flops_per_second, 30);
  EXPECT_DOUBLE_EQ(*matmul.bytes_per_second, 6);
  EXPECT_DOUBLE_EQ(*matmul.flops, 300);
  EXPECT_DOUBLE_EQ(*matmul.bytes, 60);
  EXPECT_DOUBLE_EQ(*matmul.limit_seconds, 7);
  EXPECT_DOUBLE_EQ(*matmul.limit_fraction, 0.7);
  EXPECT_EQ(profile.classes[1].op, "relu");
  EXPECT_FALSE(profile.classes[1].flops_per_second) << "none is counted, which is not zero";
  EXPECT_DOUBLE_EQ(*profile.limit_seconds, 8);
  EXPECT_DOUBLE_EQ(*profile.limit_fraction, 8.0 / 12);
}

TEST(Profile, WithoutThePeakThatItNeedsALimitIsNotKnown) {
  Profile profile = example();
  complete_profile(profile, {std::nullopt, 10.0});
  EXPECT_FALSE(profile.nodes[0].limit_seconds);
  EXPECT_FALSE(profile.nodes[0].limit);
  EXPECT_FALSE(profile.classes[0].limit_fraction);
  EXPECT_FALSE(profile.limit_seconds);
  EXPECT_TRUE(profile.nodes[1].limit_seconds) << "it has no FLOPs to wait for";
  complete_profile(profile = example(), {100.0, std::nullopt});
  for (const ProfileNode& each : profile.nodes) EXPECT_FALSE(each.limit_seconds) << each.name;
  EXPECT_DOUBLE_EQ(*profile.classes[0].flops_per_second, 30);
}

TEST(Profile, TimeThatTheClockDoesNotSeeMakesNoRate) {
  Profile profile;
  profile.nodes = {node("a", "matmul", 0, 10, 10)};
  complete_profile(profile, {100.0, 10.0});
  EXPECT_FALSE(profile.nodes[0].limit_fraction);
  EXPECT_FALSE(profile.classes[0].flops_per_second);
  EXPECT_EQ(profile.classes[0].share, 0);
}

epochbench::Run run_with(std::vector<ProfileNode> nodes, const DeviceLimits& limits) {
  epochbench::Run run;
  run.name = "m/cpu/fp32/b1";
  run.profile.emplace();
  run.profile->nodes = std::move(nodes);
  complete_profile(*run.profile, limits);
  return run;
}

TEST(ProfileText, WithoutLimitsTheSlowestComeFirst) {
  std::vector<ProfileNode> nodes;
  for (int i = 0; i < 12; ++i) nodes.push_back(node("node" + std::to_string(i), "relu", 0.001 * (1 + i), 0, 10));
  const std::string text = profile_text(run_with(nodes, {}));
  EXPECT_THAT(text, HasSubstr("m/cpu/fp32/b1: a step node by node, 78.0 ms in all\n"));
  EXPECT_THAT(text, HasSubstr("100.0 %"));
  EXPECT_LT(text.find("node11 "), text.find("node10 "));
  EXPECT_THAT(text, HasSubstr("node2 "));
  EXPECT_THAT(text, Not(HasSubstr("node1 "))) << "ten are shown";
  EXPECT_THAT(text, Not(HasSubstr("limit"))) << "nothing is known of limits";
  EXPECT_THAT(text, Not(HasSubstr("lost")));
}

TEST(ProfileText, TimeBeyondTheLimitDecidesTheOrder) {
  // 100 FLOP/s and 10 B/s: the product loses 1 of 10 s, the sum 2 of 3 s, the cast nothing.
  const std::string text = profile_text(run_with(
      {node("product", "matmul", 10, 900, 1), node("sum", "add", 3, 0, 10), node("cast", "cast", 1, 0, 20)}, {100.0, 10.0}));
  EXPECT_LT(text.find("add "), text.find("matmul "));
  EXPECT_LT(text.find("matmul "), text.find("cast "));
  EXPECT_LT(text.find("sum "), text.find("product "));
  EXPECT_LT(text.find("cast "), text.find("all "));
  EXPECT_THAT(text, testing::ContainsRegex("all +3 +14.0 s +100.0 % +900 FLOP +31.0 B +12.0 s +85.7 % +2.00 s\n"));
  EXPECT_THAT(text, HasSubstr("above 100 % where the bytes came from a cache"));
  EXPECT_THAT(profile_text(run_with({node("product", "matmul", 10, 900, 1)}, {100.0, 10.0})), Not(HasSubstr("cache")));
  EXPECT_THAT(text, testing::ContainsRegex("cast .* 200.0 % +0.00 µs\n|cast .* 200.0 % +0 µs\n"));
}

TEST(ProfileText, StatesBothTotalsAndWhyTheyDiffer) {
  epochbench::Run run = run_with({node("a", "relu", 0.002, 0, 10)}, {});
  run.profile->passes = 5;
  run.timing.emplace();
  run.timing->step_seconds_median = 0.0021;
  EXPECT_THAT(profile_text(run),
              HasSubstr("2.00 ms in all, each node the median of 5 passes; the timed\n  steps' median is 2.10 ms\n"));
  run.timing->step_seconds_median = 0.003;
  EXPECT_THAT(profile_text(run), HasSubstr("3.00 ms: a disturbance lengthens any step that it meets"));
  run.timing->step_seconds_median = 0.0015;
  EXPECT_THAT(profile_text(run), HasSubstr("1.50 ms: timing the nodes one by one takes time, too"));
}

}  // namespace
}  // namespace epochbench
