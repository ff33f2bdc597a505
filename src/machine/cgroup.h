// Limits of the control group that this process is in, versions 1 and 2, its ancestors' included.
//
// Every function takes the folder that holds /proc and /sys, "" but in tests. Unset: no limit, or none that can be read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace epochbench {

std::optional<double> cgroup_cpu_quota(const std::string& root = "");  // in CPUs
struct CgroupMemory {
  std::int64_t limit_bytes = 0;
  std::int64_t available_bytes = 0;  // the limit less the use; files that are only cached count as free
};
std::optional<CgroupMemory> cgroup_memory(const std::string& root = "");  // the level with the least available

// How many processes the kernel has killed for want of memory, here and on the whole machine. Only a rise means something.
std::optional<std::int64_t> oom_kill_count(const std::string& root = "");

}  // namespace epochbench
