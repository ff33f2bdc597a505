// What this process and the machine use: page faults, CPU time. Cheap enough to read around each block of steps.
#pragma once

#include <optional>
#include <string>

#include "src/worker/runner.h"

namespace epochbench {

// Seconds of all CPUs that were not idle, from the first line of /proc/stat; time taken by a hypervisor counts as busy.
std::optional<double> parse_busy_seconds(const char* stat, double ticks_per_second);

// Over less wall time the kernel's count of CPU time (in 10 ms) says nothing of other processes.
inline constexpr double kTellingSeconds = 0.2;

Usage read_usage();  // of this process and this machine, now

}  // namespace epochbench
