// From what the meters counted during a run's timed steps to the energy that its result states. Pure functions.
#pragma once

#include <optional>
#include <string>

#include "src/machine/energy_meter.h"
#include "src/result/result.h"

namespace epochbench {

// Shorter windows are below what a counter resolves: RAPL's is renewed every millisecond, NVML's every 20 to 100 ms (Yang,
// Adamek, Armour, "Part-time power measurements", SC 2024).
inline constexpr double kShortestCpuWindowSeconds = 0.1;
inline constexpr double kShortestGpuWindowSeconds = 0.5;

struct MeteredPart {
  Drawn drawn;  // or the obstacle why there is no meter
  std::optional<double> idle_watts;
};

struct MeteredSteps {
  double window_seconds = 0;  // all blocks of timed steps, by the parent's clock
  MeteredPart cpu;
  std::optional<MeteredPart> gpu;    // of a run on a GPU
  std::vector<std::string> remarks;  // on how this machine's meters count
};

// Watts over the windows, and from them joules per epoch. A part is known or has a reason; the sum is known where all parts
// are. `cores`: of this machine. The run's timing, device and interference must be there.
Energy energy_of(const MeteredSteps& metered, const Run& run, std::optional<int> cores);

}  // namespace epochbench
