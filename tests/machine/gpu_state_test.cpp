// Means over samples, and which steps ran while the GPU was throttled.
#include "src/machine/gpu_state.h"

#include <algorithm>

#include <gmock/gmock.h>

namespace epochbench {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;
using testing::Pair;

GpuSample sample(double seconds, std::optional<std::uint64_t> reasons) {
  GpuSample sample;
  sample.seconds = seconds;
  sample.clock_reasons = reasons;
  return sample;
}

// Samples at 0, 0.1, 0.2 …, throttled at those whose number is in `throttled`.
std::vector<GpuSample> samples(int count, const std::vector<int>& throttled) {
  std::vector<GpuSample> all;
  for (int i = 0; i < count; ++i)
    all.push_back(sample(0.1 * i, std::count(throttled.begin(), throttled.end(), i) ? clock_reason::kPowerCap : 0));
  return all;
}

GpuState state_of(const std::vector<GpuSample>& samples, const std::vector<TimedBlock>& blocks,
                  const std::vector<double>& step_seconds, bool default_power_limit = false) {
  GpuState state;
  fill_state(state, samples, blocks, step_seconds, default_power_limit);
  return state;
}

TEST(ThrottleReasons, AreThoseOfNvidiaSmi) {
  EXPECT_THAT(throttle_reasons(~std::uint64_t{0}, false),
              ElementsAre("sw_power_cap", "hw_slowdown", "sync_boost", "sw_thermal_slowdown", "hw_thermal_slowdown",
                          "hw_power_brake_slowdown"));
  EXPECT_THAT(throttle_reasons(clock_reason::kIdle | clock_reason::kApplicationSetting | clock_reason::kDisplaySetting, false),
              IsEmpty());
}

TEST(ThrottleReasons, AreNotThePowerCapOfACardWithItsUsualLimit) {
  EXPECT_THAT(throttle_reasons(clock_reason::kPowerCap, true), IsEmpty());
  EXPECT_THAT(throttle_reasons(clock_reason::kPowerCap | clock_reason::kSoftwareThermal, true),
              ElementsAre("sw_thermal_slowdown"));
  EXPECT_THAT(throttle_reasons(clock_reason::kPowerCap, false), ElementsAre("sw_power_cap"));
}

TEST(GpuState, MarksNoStepForTheUsualPowerCap) {
  const std::vector<GpuSample> all = samples(11, {2});
  EXPECT_THAT(state_of(all, {{0, 1, 25}}, std::vector<double>(25, 0.04), true).throttled_steps, Optional(0));
  EXPECT_THAT(state_of(all, {{0, 1, 25}}, std::vector<double>(25, 0.04), false).throttled_steps, Optional(6));
}

TEST(GpuState, HasMeansAndTheHighest) {
  std::vector<GpuSample> all(2);
  all[0].utilization = 0.5;
  all[1].utilization = 1;
  all[0].sm_clock_hertz = 1e9;
  all[1].sm_clock_hertz = 2e9;
  all[0].temperature_celsius = 70;
  all[1].temperature_celsius = 60;
  all[0].memory_used_bytes = 5;
  all[1].memory_used_bytes = 9;
  const GpuState state = state_of(all, {{0, 1, 1}}, {1});
  EXPECT_THAT(state.utilization, Optional(0.75));
  EXPECT_THAT(state.sm_clock_hertz, Optional(1.5e9));
  EXPECT_THAT(state.temperature_celsius, Optional(70));
  EXPECT_THAT(state.memory_used_bytes, Optional(9));
}

TEST(GpuState, WhatNoSampleKnowsIsNotKnown) {
  for (const auto& all : {std::vector<GpuSample>{}, std::vector<GpuSample>(3)}) {
    const GpuState state = state_of(all, {{0, 1, 2}}, {0.5, 0.5});
    EXPECT_FALSE(state.utilization || state.sm_clock_hertz || state.temperature_celsius || state.memory_used_bytes);
    EXPECT_FALSE(state.throttled_steps || state.throttled_step_ranges);
  }
}

TEST(GpuState, WithoutThrottlingNoStepIsMarked) {
  const GpuState state = state_of(samples(11, {}), {{0, 1, 4}}, {0.25, 0.25, 0.25, 0.25});
  EXPECT_THAT(state.throttled_steps, Optional(0));
  EXPECT_THAT(*state.throttled_step_ranges, IsEmpty());
  EXPECT_THAT(state.throttle_reasons, IsEmpty());
}

// Steps of 0.04 s from 0: the sample at 0.2 stands for the time from 0.1 to 0.3, which steps 2 to 7 touch.
TEST(GpuState, MarksShortStepsUpToTheSamplesBesideAThrottledOne) {
  const GpuState state = state_of(samples(11, {2}), {{0, 1, 25}}, std::vector<double>(25, 0.04));
  EXPECT_THAT(*state.throttled_step_ranges, ElementsAre(Pair(2, 7)));
  EXPECT_THAT(state.throttled_steps, Optional(6));
  EXPECT_THAT(state.throttle_reasons, ElementsAre("sw_power_cap"));
}

TEST(GpuState, MarksLongStepsThatHoldAThrottledSample) {
  const GpuState state = state_of(samples(31, {15}), {{0, 3, 3}}, {1, 1, 1});
  EXPECT_THAT(*state.throttled_step_ranges, ElementsAre(Pair(1, 1)));
}

TEST(GpuState, FindsStepsInTheirBlocks) {
  // Two blocks with a pause between them, in which the one throttled stretch lies, and one step of the second.
  const std::vector<GpuSample> all = {sample(0.05, 0), sample(5, clock_reason::kHardwareThermal), sample(10.05, 0),
                                      sample(10.25, 0)};
  const GpuState state = state_of(all, {{0, 0.1, 1}, {10, 10.3, 3}}, {0.1, 0.1, 0.1, 0.1});
  EXPECT_THAT(*state.throttled_step_ranges, ElementsAre(Pair(0, 1))) << "the step before and the step after";
  EXPECT_THAT(state.throttle_reasons, ElementsAre("hw_thermal_slowdown"));
}

// The parent's window of a block is longer than its steps by what talking takes.
TEST(GpuState, StretchesStepsOverTheirBlock) {
  const GpuState state =
      state_of({sample(0.5, 0), sample(2.8, 0), sample(3.5, clock_reason::kPowerCap)}, {{0, 4, 4}}, {0.9, 0.9, 0.9, 0.9});
  EXPECT_THAT(*state.throttled_step_ranges, ElementsAre(Pair(2, 3)));
}

TEST(GpuState, ListsEachStretch) {
  const GpuState state = state_of(samples(31, {5, 25}), {{0, 3, 3}}, {1, 1, 1});
  EXPECT_THAT(*state.throttled_step_ranges, ElementsAre(Pair(0, 0), Pair(2, 2)));
  EXPECT_THAT(state.throttled_steps, Optional(2));
}

}  // namespace
}  // namespace epochbench
