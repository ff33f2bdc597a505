// Which logical CPUs this process may use, which of them share a core, and where a case's threads go.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace epochbench {

struct LogicalCpu {
  int id = 0, package = 0, core = 0;  // CPUs with the same package and core are one physical core
};

std::vector<int> affinity_cpus();  // of the calling thread, ascending; never empty

// From /sys, else /proc/cpuinfo, else each CPU a core of its own. `root` holds both, "" but in tests.
std::vector<LogicalCpu> topology(const std::vector<int>& cpus, const std::string& root = "");
int physical_cores(const std::vector<LogicalCpu>& cpus);

// The CPUs in the order in which threads should take them: one of each core first, neighbours together.
std::vector<int> placement(std::vector<LogicalCpu> cpus);

// Environment of a process with `threads` OpenMP threads: its number, one core a thread, how long idle threads spin.
// Threads are not bound where a `quota` (in CPUs) gives less than the mask, as other groups then own the cores in turn, nor
// where there are more threads than CPUs. Empty for a case without CPU threads (0).
using EnvironmentSettings = std::vector<std::pair<std::string, std::string>>;
EnvironmentSettings openmp_settings(int threads, const std::vector<LogicalCpu>& cpus, std::optional<double> quota);

}  // namespace epochbench
