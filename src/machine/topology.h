// Which logical CPUs this process may use, which of them share a core, where a case's threads go, and the caches' sizes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/case/choices.h"

namespace epochbench {

// GOMP_SPINCOUNT: idle threads spin for about 1 to 3 ms (a pause lasts 40 to 140 cycles): the gaps inside a step are shorter,
// a wait for data is longer and should leave the core to the loader.
inline constexpr const char* kSpinCount = "50000";

struct LogicalCpu {
  int id = 0, package = 0, core = 0;  // CPUs with the same package and core are one physical core
  bool fast = true;                   // no kind of core in the list is much faster
};

std::vector<int> affinity_cpus();  // of the calling thread, ascending; never empty

// From /sys, else /proc/cpuinfo, else each CPU is its own core. `root` holds both, empty except in tests.
std::vector<LogicalCpu> topology(const std::vector<int>& cpus, const std::string& root = "");
int physical_cores(const std::vector<LogicalCpu>& cpus);
std::vector<LogicalCpu> fast_cpus(std::vector<LogicalCpu> cpus);

// The CPUs in the order in which threads should take them: fast ones first, of these one of each core, neighbors together.
std::vector<int> placement(std::vector<LogicalCpu> cpus);

// The CPUs of a rank: in placement() order, as many as it has threads, after those of the ranks before it. Empty if there are
// not enough for all ranks.
std::vector<LogicalCpu> cpus_of_rank(const std::vector<LogicalCpu>& cpus, int threads, int rank, int ranks);

using EnvironmentSettings = std::map<std::string, std::string>;

// Environment of a process with `threads` OpenMP threads: their number, one core per thread, how long idle threads spin. `pin`:
// cores and none decide whether threads are bound; automatic binds them unless a `quota` (in CPUs) gives less than the mask,
// since other groups then get the cores in turn. More threads than CPUs are never bound. Empty for a case without CPU threads
// (0).
EnvironmentSettings openmp_settings(int threads, const std::vector<LogicalCpu>& cpus, std::optional<double> quota,
                                    Pinning pin = Pinning::automatic);
// The same for processes that take turns: idle threads sleep at once, since their process waits while another one needs the
// cores.
EnvironmentSettings sleeping_when_idle(EnvironmentSettings settings);
bool may_pin();                 // whether the system lets this process set its affinity, which sandboxes refuse
Pinning possible(Pinning pin);  // none where may_pin() is false
bool threads_are_pinned();      // whether this process's environment binds OpenMP's threads

// Sizes of the data caches: one core's L1 and L2, and one L3, including what is shared.
struct CacheSizes {
  std::optional<std::int64_t> l1d_bytes, l2_bytes, l3_bytes;
};

CacheSizes cache_sizes();                                   // from the kernel, else from the CPU itself
CacheSizes caches_of_kernel(const std::string& root = "");  // from /sys under `root`
CacheSizes caches_of_cpuid();                               // empty if the CPU lacks the instruction

}  // namespace epochbench
