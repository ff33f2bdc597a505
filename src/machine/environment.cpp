#include "src/machine/environment.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <sstream>
#include <string_view>

#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "src/base/cpu_name.h"
#include "src/machine/cgroup.h"
#include "src/machine/clean_start.h"
#include "src/machine/source_version.h"
#include "src/machine/system_files.h"
#include "src/machine/topology.h"

namespace epochbench {
namespace {

// The instruction sets that decide how fast training runs, by the kernel's names.
constexpr std::array<std::string_view, 24> kInterestingIsa = {
    "sse4_2",   "avx",      "avx2",     "fma",         "f16c",        "avx_vnni",    "avx512f",  "avx512bw",
    "avx512cd", "avx512dq", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16",
    "amx_int8", "amx_fp16", "asimd",    "asimdhp",     "bf16",        "sve",         "sve2",     "svebf16"};

std::optional<std::string> cpuinfo_field(const std::vector<std::string_view>& keys) {
  return find_field("/proc/cpuinfo", ':', [&](std::string_view key, const std::string&) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  });
}

std::vector<std::string> isa() {
  std::vector<std::string> found;
  std::istringstream flags(cpuinfo_field({"flags", "Features"}).value_or(""));
  for (std::string flag; flags >> flag;)
    if (std::find(kInterestingIsa.begin(), kInterestingIsa.end(), flag) != kInterestingIsa.end() &&
        std::find(found.begin(), found.end(), flag) == found.end())
      found.push_back(flag);
  return found;
}

std::string frequency_scaling(const std::vector<int>& cpus) {
  bool known = false;
  for (int cpu : cpus) {
    const auto governor = read_line("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpufreq/scaling_governor");
    if (!governor) continue;
    if (*governor != "performance") return "yes";
    known = true;
  }
  return known ? "no" : "unknown";
}

std::optional<std::int64_t> kibibytes(const std::string& path, const std::string& key) {
  const auto value = read_keyed_number(path, key);
  return value ? std::optional(*value * 1024) : std::nullopt;
}

// Bytes that RLIMIT_AS or RLIMIT_DATA leaves to this process.
std::int64_t limit_left(decltype(RLIMIT_AS) resource, const std::string& used_key) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::numeric_limits<std::int64_t>::max();
  const auto most = static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_cur, std::numeric_limits<std::int64_t>::max()));
  return std::max<std::int64_t>(0, most - kibibytes("/proc/self/status", used_key).value_or(0));
}

std::string now_rfc3339() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

std::string compiler() {
#if defined(__clang__)
  const auto number = [](int part) { return std::to_string(part); };
  return "clang " + number(__clang_major__) + "." + number(__clang_minor__) + "." + number(__clang_patchlevel__);
#elif defined(__GNUC__)
  return "gcc " __VERSION__;
#else
  return "unknown";
#endif
}

// PRETTY_NAME of /etc/os-release: "Debian GNU/Linux 12 (bookworm)"; in a container, that of its image.
std::optional<std::string> distribution() {
  for (const char* path : {"/etc/os-release", "/usr/lib/os-release"}) {
    const auto name = find_field(path, '=', [](std::string_view key, const std::string&) { return key == "PRETTY_NAME"; });
    if (!name) continue;
    const bool quoted = name->size() >= 2 && (name->front() == '"' || name->front() == '\'') && name->back() == name->front();
    return quoted ? name->substr(1, name->size() - 2) : name;
  }
  return std::nullopt;
}

std::optional<std::string> kernel_release() {
  utsname system{};
  if (::uname(&system) != 0) return std::nullopt;
  return std::string(system.sysname) + " " + system.release;
}

}  // namespace

int default_threads() {
  const int cores = physical_cores(fast_cpus(topology(affinity_cpus())));
  const auto quota = cgroup_cpu_quota();
  return std::max(1, quota ? std::min(cores, static_cast<int>(*quota)) : cores);
}

int logical_cpus_allowed() { return static_cast<int>(affinity_cpus().size()); }

CpuInfo cpu_info() {
  CpuInfo info;
  const std::vector<int> allowed = affinity_cpus();
  info.model = this_cpu_name();
  if (info.model.empty()) info.model = cpuinfo_field({"model name", "Model", "Hardware", "cpu"}).value_or("unknown");
  info.threads_available = static_cast<int>(allowed.size());
  info.isa = isa();

  std::vector<int> online = allowed;
  if (const auto list = read_system_file("/sys/devices/system/cpu/online"))
    if (const std::vector<int> all = parse_cpu_list(*list); !all.empty()) online = all;
  const std::vector<LogicalCpu> cpus = topology(online);
  info.cores = physical_cores(cpus);
  if (const int fast = physical_cores(fast_cpus(cpus)); fast < *info.cores) info.fast_cores = fast;
  std::vector<int> packages;
  for (const LogicalCpu& cpu : cpus) packages.push_back(cpu.package);
  std::sort(packages.begin(), packages.end());
  info.sockets = static_cast<int>(std::unique(packages.begin(), packages.end()) - packages.begin());

  const CacheSizes caches = cache_sizes();
  info.l1d_bytes = caches.l1d_bytes;
  info.l2_bytes = caches.l2_bytes;
  info.l3_bytes = caches.l3_bytes;
  info.memory_bytes = kibibytes("/proc/meminfo", "MemTotal:");
  if (!info.memory_bytes && sysconf(_SC_PHYS_PAGES) > 0)
    info.memory_bytes = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  info.frequency_scaling = frequency_scaling(allowed);
  return info;
}

BuildInfo build_info() {
  BuildInfo build;
  const SourceVersion source = source_version();
  build.version = source.version;
  if (const std::string commit = source.commit; !commit.empty()) {
    build.git_sha = commit;
    build.git_dirty = source.changed;
  }
  build.build_type = EPOCHBENCH_BUILD_TYPE;
  build.compiler = compiler();
  build.cpu_kernels = std::vector<std::string>{EPOCHBENCH_CPU_KERNELS};
  build.gpu_code = std::vector<std::string>{EPOCHBENCH_GPU_CODE};
  return build;
}

Context describe_context(const std::vector<std::string>& command_line) {
  Context context;
  static_cast<BuildInfo&>(context) = build_info();
  context.date = now_rfc3339();
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) == 0 && host[0]) context.host_name = host;
  context.os = distribution();
  context.kernel = kernel_release();
  context.command_line = command_line;
  double load[3];
  if (const int count = getloadavg(load, 3); count > 0) context.load_average.assign(load, load + count);
  context.environment = environment_at_start();
  if (const int nice = getpriority(PRIO_PROCESS, 0); nice != 0) context.nice = nice;
  context.cpu = cpu_info();
  return context;
}

std::map<std::string, std::string> environment_at_start() {
  std::map<std::string, std::string> found;
  const char* record = std::getenv(kStartedWith.data());
  std::istringstream entries(record ? record : "");
  for (std::string entry; std::getline(entries, entry, kEntryEnd);)
    if (const std::size_t at = entry.find('='); at != std::string::npos) found[entry.substr(0, at)] = entry.substr(at + 1);
  for (const char* name : {"LD_PRELOAD", "GLIBC_TUNABLES"})
    if (const char* value = std::getenv(name); value && *value) found[name] = value;
  return found;
}

std::int64_t available_memory_bytes() {
  std::int64_t available = kibibytes("/proc/meminfo", "MemAvailable:").value_or(std::numeric_limits<std::int64_t>::max());
  if (const auto group = cgroup_memory()) available = std::min(available, group->available_bytes);
  available = std::min(available, limit_left(RLIMIT_AS, "VmSize:"));
  return std::min(available, limit_left(RLIMIT_DATA, "VmData:"));
}

std::optional<std::int64_t> resident_bytes() { return kibibytes("/proc/self/status", "VmRSS:"); }

// Not by getrusage, whose ru_maxrss also counts the program that this process was before it was executed.
std::optional<std::int64_t> peak_resident_bytes() { return kibibytes("/proc/self/status", "VmHWM:"); }

std::optional<std::int64_t> huge_page_bytes() { return kibibytes("/proc/self/smaps_rollup", "AnonHugePages:"); }

std::string system_vendor() { return read_line("/sys/class/dmi/id/sys_vendor").value_or(""); }
std::string product_name() { return read_line("/sys/class/dmi/id/product_name").value_or(""); }

}  // namespace epochbench
