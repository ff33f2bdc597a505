// What samples of a GPU say about a run: means, and the steps during which its clock was held down. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/machine/nvml.h"
#include "src/result/result.h"

namespace epochbench {

// A block of timed steps, on the clock of the samples.
struct TimedBlock {
  double begin_seconds = 0, end_seconds = 0;
  std::int64_t steps = 0;
};

// Named as by nvidia-smi. An idle GPU and clocks that a user chose are not throttling, nor is the power cap of a card with its
// usual power limit, which determines its clock under load.
std::vector<std::string> throttle_reasons(std::uint64_t clock_reasons, bool default_power_limit);

// Fills in utilization and clock (means), temperature and memory (maxima), and throttling; leaves out what no sample has.
// `step_seconds` gives the positions of steps in their blocks. A sample stands for the time to its neighbors, so a step is
// marked if the last sample before it, the first after it, or one within it was throttled: rather too many steps, by a sampling
// period on either side, than too few. Samples and blocks are in order of time.
void fill_state(GpuState& state, const std::vector<GpuSample>& samples, const std::vector<TimedBlock>& blocks,
                const std::vector<double>& step_seconds, bool default_power_limit);

}  // namespace epochbench
