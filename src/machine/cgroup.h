// Limits of this process's control group and its ancestors, cgroup versions 1 and 2.
//
// Every function takes the folder that holds /proc and /sys, empty except in tests. Unset: no limit, or none that can be read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace epochbench {

std::optional<double> cgroup_cpu_quota(const std::string& root = "");  // in CPUs
struct CgroupMemory {
  std::int64_t limit_bytes = 0;
  std::int64_t available_bytes = 0;  // limit minus use; file pages that are only cached count as free
};
// The level with the least available. Processes above the limit memory.high are not killed, but slowed down, and count as above
// a limit, too.
std::optional<CgroupMemory> cgroup_memory(const std::string& root = "");

// Processes that the kernel killed for lack of memory, here and on the whole machine. Only an increase is meaningful.
std::optional<std::int64_t> oom_kill_count(const std::string& root = "");

}  // namespace epochbench
