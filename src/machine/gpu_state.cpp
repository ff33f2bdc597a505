#include "src/machine/gpu_state.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "src/base/statistics.h"

namespace epochbench {
namespace {

struct NamedReason {
  std::uint64_t bit;
  const char* name;
};
constexpr NamedReason kThrottling[] = {{clock_reason::kPowerCap, "sw_power_cap"},
                                       {clock_reason::kHardwareSlowdown, "hw_slowdown"},
                                       {clock_reason::kSyncBoost, "sync_boost"},
                                       {clock_reason::kSoftwareThermal, "sw_thermal_slowdown"},
                                       {clock_reason::kHardwareThermal, "hw_thermal_slowdown"},
                                       {clock_reason::kPowerBrake, "hw_power_brake_slowdown"}};

// A summary of the samples that have the quantity; empty if none has.
template <class Value, class Summary>
std::optional<Value> over(const std::vector<GpuSample>& samples, std::optional<Value> GpuSample::*quantity,
                          const Summary& summary) {
  std::vector<Value> values;
  for (const GpuSample& sample : samples)
    if (sample.*quantity) values.push_back(*(sample.*quantity));
  return values.empty() ? std::nullopt : std::optional<Value>(summary(values));
}

constexpr auto kHighest = [](const auto& values) { return *std::max_element(values.begin(), values.end()); };

struct ClockState {
  double seconds;
  bool throttled;
};

bool throttled_between(const std::vector<ClockState>& states, double begin, double end) {
  const auto later = [](double seconds, const ClockState& state) { return seconds < state.seconds; };
  auto first = std::upper_bound(states.begin(), states.end(), begin, later);
  if (first != states.begin()) --first;  // the last at or before the beginning
  auto last = std::upper_bound(states.begin(), states.end(), end, later);
  if (last != states.end()) ++last;  // the first after the end
  return std::any_of(first, last, [](const ClockState& state) { return state.throttled; });
}

using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;

Ranges throttled_ranges(const std::vector<ClockState>& states, const std::vector<TimedBlock>& blocks,
                        const std::vector<double>& step_seconds) {
  Ranges ranges;
  std::int64_t step = 0;
  for (const TimedBlock& block : blocks) {
    const auto first = step_seconds.begin() + step;
    const double steps_seconds = std::accumulate(first, first + block.steps, 0.0);
    const double stretch = steps_seconds > 0 ? (block.end_seconds - block.begin_seconds) / steps_seconds : 0;
    double begin = block.begin_seconds;
    for (const std::int64_t past = step + block.steps; step < past; ++step) {
      const double end = begin + stretch * step_seconds[static_cast<std::size_t>(step)];
      if (throttled_between(states, begin, end)) {
        if (!ranges.empty() && ranges.back().second == step - 1)
          ranges.back().second = step;
        else
          ranges.emplace_back(step, step);
      }
      begin = end;
    }
  }
  return ranges;
}

}  // namespace

std::vector<std::string> throttle_reasons(std::uint64_t clock_reasons, bool default_power_limit) {
  if (default_power_limit) clock_reasons &= ~clock_reason::kPowerCap;
  std::vector<std::string> names;
  for (const auto& [bit, name] : kThrottling)
    if (clock_reasons & bit) names.emplace_back(name);
  return names;
}

void fill_state(GpuState& state, const std::vector<GpuSample>& samples, const std::vector<TimedBlock>& blocks,
                const std::vector<double>& step_seconds, bool default_power_limit) {
  state.utilization = over(samples, &GpuSample::utilization, mean);
  state.sm_clock_hertz = over(samples, &GpuSample::sm_clock_hertz, mean);
  state.temperature_celsius = over(samples, &GpuSample::temperature_celsius, kHighest);
  state.memory_used_bytes = over(samples, &GpuSample::memory_used_bytes, kHighest);
  std::vector<ClockState> states;
  std::uint64_t all_reasons = 0;
  for (const GpuSample& sample : samples) {
    if (!sample.clock_reasons) continue;
    all_reasons |= *sample.clock_reasons;
    states.push_back({sample.seconds, !throttle_reasons(*sample.clock_reasons, default_power_limit).empty()});
  }
  if (states.empty()) return;
  state.throttle_reasons = throttle_reasons(all_reasons, default_power_limit);
  state.throttled_step_ranges = throttled_ranges(states, blocks, step_seconds);
  state.throttled_steps = 0;
  for (const auto& [first, last] : *state.throttled_step_ranges) *state.throttled_steps += last - first + 1;
}

}  // namespace epochbench
