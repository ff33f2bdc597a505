// What samples of a GPU say of a run: means, and the steps during which its clock was held down. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/machine/nvml.h"
#include "src/result/result.h"

namespace epochbench {

// A block of timed steps by the clock of the samples.
struct TimedBlock {
  double begin_seconds = 0, end_seconds = 0;
  std::int64_t steps = 0;
};

// As nvidia-smi names them. An idle GPU and clocks that a user chose are not throttling, and neither is the power cap of a card
// with its usual power limit: under load, its clock is what that allows.
std::vector<std::string> throttle_reasons(std::uint64_t clock_reasons, bool usual_power_limit);

// Fills in utilization and clock (means), temperature and memory (the highest), and throttling; of what no sample knows,
// nothing. Steps lie in their blocks as `step_seconds` says. A sample stands for the time to its neighbors, so a step is
// marked where the last sample before it, the first after it, or one within it was throttled: rather too many by a period of
// sampling on either side than too few. Samples and blocks are in the order of time.
void fill_state(GpuState& state, const std::vector<GpuSample>& samples, const std::vector<TimedBlock>& blocks,
                const std::vector<double>& step_seconds, bool usual_power_limit);

}  // namespace epochbench
