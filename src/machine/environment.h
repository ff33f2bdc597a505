// Describes this machine, from /proc, /sys where mounted, cpuid and the C library. Nothing here is timed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/result/result.h"
#include "src/result/turns.h"

namespace epochbench {

// Physical cores that affinity and the cgroup's CPU quota allow, of the fast kind where there are several; at least 1.
int default_threads();
// Logical CPUs in the affinity mask.
int logical_cpus_allowed();
CpuInfo cpu_info();      // without the measured peaks
BuildInfo build_info();  // of this program
Context describe_context(const std::vector<std::string>& command_line);
// Bytes that a new process may still use: the minimum of MemAvailable, the cgroup's limit minus its use, and what RLIMIT_AS and
// RLIMIT_DATA leave.
std::int64_t available_memory_bytes();
std::optional<std::int64_t> resident_bytes();  // of this process; both empty if the kernel does not say, as without /proc
std::optional<std::int64_t> peak_resident_bytes();
std::optional<std::int64_t> huge_page_bytes();  // of this process, in transparent huge pages; unset if the kernel does not say
// "Amazon EC2" and "c7i.4xlarge" on such a machine; empty if the firmware does not say.
std::string system_vendor();
std::string product_name();

}  // namespace epochbench
