#include "src/machine/topology.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>

#include <sched.h>
#include <strings.h>
#include <unistd.h>

#include "src/machine/system_files.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace epochbench {
namespace {

// (package, core) by CPU, from /proc/cpuinfo.
std::map<int, std::pair<int, int>> cores_of_cpuinfo(const std::string& root) {
  std::map<int, std::pair<int, int>> cores;
  int cpu = -1, package = 0;
  find_field(root + "/proc/cpuinfo", ':', [&](std::string_view key, const std::string& text) {
    const int value = static_cast<int>(parse_number(text).value_or(-1));
    if (value < 0) return false;
    if (key == "processor") cpu = value;
    if (key == "physical id") package = value;
    if (key == "core id" && cpu >= 0) cores[cpu] = {package, value};
    return false;
  });
  return cores;
}

// How fast a CPU is beside others, of 1024: what the kernel says of each, else by the lists of hybrid Intel CPUs.
std::int64_t capacity_of(int id, const std::string& root) {
  if (const auto capacity = read_number(root + "/sys/devices/system/cpu/cpu" + std::to_string(id) + "/cpu_capacity"))
    return *capacity;
  for (const char* slow : {"cpu_atom", "cpu_lowpower"})
    if (contains(parse_cpu_list(read_system_file(root + "/sys/devices/" + slow + "/cpus").value_or("")), id)) return 512;
  return 1024;
}

void set_level(CacheSizes& sizes, int level, std::int64_t bytes) {
  if (bytes <= 0) return;
  if (level == 1) sizes.l1d_bytes = bytes;
  if (level == 2) sizes.l2_bytes = bytes;
  if (level == 3) sizes.l3_bytes = bytes;
}

}  // namespace

std::vector<int> affinity_cpus() {
  std::vector<int> cpus;
  for (int most = 1024; most <= 1 << 20; most *= 4) {  // the kernel rejects a set that is too small
    cpu_set_t* set = CPU_ALLOC(most);
    const std::size_t size = CPU_ALLOC_SIZE(most);
    const bool known = sched_getaffinity(0, size, set) == 0;
    for (int cpu = 0; known && cpu < most; ++cpu)
      if (CPU_ISSET_S(cpu, size, set)) cpus.push_back(cpu);
    CPU_FREE(set);
    if (known) break;
  }
  if (cpus.empty())
    for (int cpu = 0; cpu < std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)); ++cpu) cpus.push_back(cpu);
  return cpus;
}

std::vector<LogicalCpu> topology(const std::vector<int>& cpus, const std::string& root) {
  std::vector<LogicalCpu> result;
  std::optional<std::map<int, std::pair<int, int>>> cpuinfo;
  for (int id : cpus) {
    const std::string folder = root + "/sys/devices/system/cpu/cpu" + std::to_string(id) + "/topology/";
    const int package = static_cast<int>(read_number(folder + "physical_package_id").value_or(0));
    // The number of a core is unique within a die or a cluster only, so the first of its CPUs names it.
    const std::vector<int> siblings = parse_cpu_list(read_system_file(folder + "thread_siblings_list").value_or(""));
    if (!siblings.empty()) {
      result.push_back({id, package, *std::ranges::min_element(siblings)});
      continue;
    }
    if (const auto core = read_number(folder + "core_id")) {
      result.push_back({id, package, static_cast<int>(*core)});
      continue;
    }
    if (!cpuinfo) cpuinfo = cores_of_cpuinfo(root);
    const auto found = cpuinfo->find(id);
    result.push_back(found == cpuinfo->end() ? LogicalCpu{id, 0, id}
                                             : LogicalCpu{id, found->second.first, found->second.second});
  }
  // Cores of one kind differ by a tenth, as their highest clocks do; kinds by a third and more.
  constexpr double kOneKind = 0.8;
  std::vector<std::int64_t> capacities;
  for (int id : cpus) capacities.push_back(capacity_of(id, root));
  const auto most = static_cast<double>(cpus.empty() ? 0 : std::ranges::max(capacities));
  for (std::size_t i = 0; i < result.size(); ++i) result[i].fast = static_cast<double>(capacities[i]) >= kOneKind * most;
  return result;
}

std::vector<LogicalCpu> fast_cpus(std::vector<LogicalCpu> cpus) {
  std::erase_if(cpus, [](const LogicalCpu& cpu) { return !cpu.fast; });
  return cpus;
}

int physical_cores(const std::vector<LogicalCpu>& cpus) {
  std::set<std::pair<int, int>> cores;
  for (const LogicalCpu& cpu : cpus) cores.insert({cpu.package, cpu.core});
  return static_cast<int>(cores.size());
}

std::vector<int> placement(std::vector<LogicalCpu> cpus) {
  std::sort(cpus.begin(), cpus.end(), [](const LogicalCpu& a, const LogicalCpu& b) {
    return std::tie(a.package, a.core, a.id) < std::tie(b.package, b.core, b.id);
  });
  // The first siblings of all fast cores, then second ones, then slower cores.
  std::map<std::pair<int, int>, int> siblings;
  std::vector<std::tuple<bool, int, int>> order;
  for (const LogicalCpu& cpu : cpus) order.emplace_back(!cpu.fast, siblings[{cpu.package, cpu.core}]++, cpu.id);
  std::ranges::stable_sort(order, {}, [](const auto& each) { return std::pair(std::get<0>(each), std::get<1>(each)); });
  std::vector<int> ids;
  for (const auto& [slow, sibling, id] : order) ids.push_back(id);
  return ids;
}

std::vector<LogicalCpu> cpus_of_rank(const std::vector<LogicalCpu>& cpus, int threads, int rank, int ranks) {
  const std::vector<int> places = placement(cpus);
  const auto count = static_cast<std::size_t>(threads), first = count * static_cast<std::size_t>(rank);
  std::vector<LogicalCpu> own;
  if (count * static_cast<std::size_t>(ranks) > places.size()) return own;
  for (const LogicalCpu& cpu : cpus)
    if (const auto place = std::ranges::find(places, cpu.id) - places.begin();
        static_cast<std::size_t>(place) >= first && static_cast<std::size_t>(place) < first + count)
      own.push_back(cpu);
  return own;
}

EnvironmentSettings openmp_settings(int threads, const std::vector<LogicalCpu>& cpus, std::optional<double> quota,
                                    Pinning pin) {
  if (threads < 1) return {};
  EnvironmentSettings settings = {
      {"OMP_NUM_THREADS", std::to_string(threads)}, {"OMP_DYNAMIC", "false"}, {"GOMP_SPINCOUNT", kSpinCount}};
  const bool shared = quota && *quota < static_cast<double>(cpus.size());
  if (pin == Pinning::none || (shared && pin == Pinning::automatic) || threads > static_cast<int>(cpus.size())) {
    settings["OMP_PROC_BIND"] = "false";
    return settings;
  }
  std::vector<int> places = placement(cpus);
  places.resize(static_cast<std::size_t>(threads));
  settings["OMP_PROC_BIND"] = "close";
  settings["OMP_PLACES"] = joined(
      places, [](int cpu) { return "{" + std::to_string(cpu) + "}"; }, ",");
  return settings;
}

EnvironmentSettings sleeping_when_idle(EnvironmentSettings settings) {
  settings["OMP_WAIT_POLICY"] = "passive";
  settings["GOMP_SPINCOUNT"] = "0";
  settings["KMP_BLOCKTIME"] = "0";  // read by LLVM's and Intel's runtimes
  return settings;
}

bool may_pin() {
  cpu_set_t own;  // a mask of more CPUs than fit is not tried
  return sched_getaffinity(0, sizeof own, &own) != 0 || sched_setaffinity(0, sizeof own, &own) == 0;
}

Pinning possible(Pinning pin) { return may_pin() ? pin : Pinning::none; }

bool threads_are_pinned() {
  const char* binding = std::getenv("OMP_PROC_BIND");
  return binding && *binding && strcasecmp(binding, "false") != 0;
}

// Not by sysconf: for AMD's shared L3 it returns sizes that no cache has.
CacheSizes caches_of_kernel(const std::string& root) {
  CacheSizes sizes;
  for (int index = 0; index < 16; ++index) {
    const std::string folder = root + "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    const auto level = read_number(folder + "level");
    const auto type = read_line(folder + "type"), size = read_line(folder + "size");  // "32K", "8M"
    if (!level || !type || !size) break;
    if (*type == "Instruction") continue;
    std::int64_t bytes = parse_number(*size).value_or(0);
    if (size->ends_with('K')) bytes <<= 10;
    if (size->ends_with('M')) bytes <<= 20;
    set_level(sizes, static_cast<int>(*level), bytes);
  }
  return sizes;
}

CacheSizes caches_of_cpuid() {
  CacheSizes sizes;
#if defined(__x86_64__)
  // Intel's leaf 4, and AMD's 0x8000001D with the same layout.
  for (unsigned leaf : {0x8000001Du, 4u}) {
    for (unsigned index = 0; index < 16; ++index) {
      unsigned a = 0, b = 0, c = 0, d = 0;
      if (!__get_cpuid_count(leaf, index, &a, &b, &c, &d)) break;
      const unsigned type = a & 31, level = (a >> 5) & 7;
      if (type == 0) break;
      if (type == 2) continue;  // instructions
      const std::int64_t ways = (b >> 22) + 1, partitions = ((b >> 12) & 1023) + 1, line = (b & 4095) + 1,
                         sets = std::int64_t{c} + 1;
      set_level(sizes, static_cast<int>(level), ways * partitions * line * sets);
    }
    if (sizes.l1d_bytes) break;
  }
#endif
  return sizes;
}

CacheSizes cache_sizes() {
  const CacheSizes kernel = caches_of_kernel();
  return kernel.l1d_bytes ? kernel : caches_of_cpuid();
}

}  // namespace epochbench
