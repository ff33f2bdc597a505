#include "src/machine/system/system_state.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>
#include <thread>

#include <sys/resource.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/machine/cgroup.h"
#include "src/machine/system_files.h"
#include "src/result/load.h"

namespace epochbench {
namespace {

constexpr const char* kCpus = "/sys/devices/system/cpu";

std::string cpu_folder(const std::string& root, int cpu) { return root + kCpus + "/cpu" + std::to_string(cpu); }

SystemCheck unknown(std::string name, std::string reason) {
  return {std::move(name), Disturbance::unknown, std::move(reason), "", ""};
}
SystemCheck quiet(std::string name, std::string found) {
  return {std::move(name), Disturbance::none, std::move(found), "", ""};
}

std::string of_cpus(std::size_t some, std::size_t all) { return std::to_string(some) + " of " + counted(all, "CPU", "CPUs"); }

SystemCheck governor(const std::vector<int>& cpus, const std::string& root) {
  std::map<std::string, std::size_t> found;
  for (const int cpu : cpus)
    if (const auto text = read_line(cpu_folder(root, cpu) + "/cpufreq/scaling_governor")) ++found[*text];
  if (found.empty()) return unknown("governor", "cpufreq is missing; a hypervisor may set the clock");
  const std::size_t performance = found["performance"];
  found.erase("performance");
  if (found.empty()) return quiet("governor", "performance on " + of_cpus(performance, cpus.size()));
  const auto most = std::ranges::max_element(found, {}, [](const auto& each) { return each.second; });
  return {"governor", Disturbance::disturbs, most->first + " on " + of_cpus(most->second, cpus.size()),
          "the clock follows the load, so a step's time depends on what came before",
          "sudo cpupower frequency-set -g performance"};
}

SystemCheck turbo(const std::string& root) {
  const std::string intel = std::string(kCpus) + "/intel_pstate/no_turbo", other = std::string(kCpus) + "/cpufreq/boost";
  const auto no_turbo = read_number(root + intel), boost = read_number(root + other);
  if (!no_turbo && !boost) return unknown("turbo", "the kernel exposes no turbo control; a hypervisor may set the clock");
  if (no_turbo ? *no_turbo != 0 : *boost == 0) return quiet("turbo", "off");
  return {"turbo", Disturbance::disturbs, "on", "the clock depends on temperature and on how many cores work",
          no_turbo ? "echo 1 | sudo tee " + intel : "echo 0 | sudo tee " + other};
}

SystemCheck smt(const std::string& root) {
  const auto active = read_number(root + kCpus + "/smt/active");
  if (!active) return unknown("SMT siblings", "the kernel does not report whether CPUs share cores");
  if (*active == 0) return quiet("SMT siblings", "none: one CPU per core");
  return {"SMT siblings", Disturbance::disturbs, "on", "another process on the same core takes a part of its speed",
          "echo off | sudo tee " + std::string(kCpus) + "/smt/control"};
}

SystemCheck huge_pages(const std::string& root) {
  const std::string path = "/sys/kernel/mm/transparent_hugepage/enabled";
  const auto text = read_line(root + path);  // "always [madvise] never"
  const auto open = text ? text->find('[') : std::string::npos, close = text ? text->find(']') : std::string::npos;
  if (open == std::string::npos || close == std::string::npos || close < open)
    return unknown("huge pages", "the kernel has no transparent huge pages, or does not report them");
  const std::string word = text->substr(open + 1, close - open - 1);
  if (word != "never") return quiet("huge pages", word);
  return {"huge pages", Disturbance::disturbs, "never", "large arrays miss the TLB, and how often varies from run to run",
          "echo madvise | sudo tee " + path};
}

SystemCheck quota(const std::vector<int>& cpus, const std::string& root) {
  if (!read_system_file(root + "/proc/self/cgroup")) return unknown("CPU quota", "/proc/self/cgroup cannot be read");
  const auto limit = cgroup_cpu_quota(root);
  const auto all = static_cast<double>(cpus.size());
  if (!limit || *limit >= all) return quiet("CPU quota", limit ? "not below the CPUs" : "none");
  return {"CPU quota", Disturbance::disturbs, significant(*limit, 2) + " of " + counted(cpus.size(), "CPU", "CPUs"),
          "threads stand still for the rest of each period once it is used up",
          "docker run --cpuset-cpus=0-" + std::to_string(std::max(0, static_cast<int>(*limit) - 1)) + " ... instead of --cpus"};
}

SystemCheck foreign_load(std::optional<double> cores) {
  if (!cores) return unknown("foreign load", "/proc/stat cannot be read, or stands still");
  const std::string found = significant(*cores, 2) + " cores by other processes";
  if (!is_loaded(cores)) return quiet("foreign load", *cores < 0.005 ? "none" : found);
  return {"foreign load", Disturbance::disturbs, found,
          "they take CPU time, caches and memory bandwidth; processes that take turns compare even so: epochbench compare "
          "--interleave, scripts/peers/take_turns",
          "top -o %CPU    shows them; end them, or measure later"};
}

// As containers have it whose program leaves no other trace, such as containerd.
bool root_is_overlay(const std::string& root) {
  std::istringstream mounts(read_system_file(root + "/proc/self/mountinfo").value_or(""));
  for (std::string line; std::getline(mounts, line);)
    if (line.find(" / / ") != std::string::npos && line.find(" - overlay ") != std::string::npos) return true;
  return false;
}

SystemCheck container(const std::string& root) {
  const auto groups = read_system_file(root + "/proc/self/cgroup");
  std::string found;
  for (const auto& [file, name] : {std::pair("/.dockerenv", "Docker"), std::pair("/run/.containerenv", "Podman")})
    if (std::error_code unreadable; std::filesystem::exists(root + file, unreadable)) found = name;
  for (const auto& [word, name] : {std::pair("kubepods", "Kubernetes"), std::pair("docker", "Docker"), std::pair("lxc", "LXC"),
                                   std::pair("libpod", "Podman")})
    if (found.empty() && groups && groups->find(word) != std::string::npos) found = name;
  const char* pod = root.empty() ? std::getenv("KUBERNETES_SERVICE_HOST") : nullptr;
  std::error_code unreadable;
  if (found.empty() && ((pod && *pod) || std::filesystem::exists(root + "/var/run/secrets/kubernetes.io", unreadable)))
    found = "Kubernetes";
  if (found.empty() && root_is_overlay(root)) found = "its root is an overlay";
  if (!found.empty())
    return {"container", Disturbance::disturbs, found, "other containers may share its CPUs, and it cannot see them",
            "docker run --cpuset-cpus=LIST ...    with CPUs that no other container has"};
  if (!groups) return unknown("container", "/proc/self/cgroup cannot be read");
  return quiet("container", "none");
}

SystemCheck numa(const std::vector<int>& cpus, const std::string& root) {
  const auto online = read_line(root + "/sys/devices/system/node/online");
  if (!online) return unknown("NUMA", "the kernel reports no nodes");
  const std::vector<int> nodes = parse_cpu_list(*online);
  std::size_t used = 0;
  int first = -1;
  for (const int node : nodes) {
    const auto list = read_line(root + "/sys/devices/system/node/node" + std::to_string(node) + "/cpulist");
    const std::vector<int> of_node = list ? parse_cpu_list(*list) : std::vector<int>{};
    if (!std::ranges::any_of(of_node, [&](int cpu) { return contains(cpus, cpu); })) continue;
    if (used++ == 0) first = node;
  }
  if (used <= 1) return quiet("NUMA", nodes.size() == 1 ? "one node" : "this process is on one node");
  const std::string node = std::to_string(first);
  return {"NUMA", Disturbance::disturbs, std::to_string(used) + " nodes",
          "memory of another node is farther, and which it is varies",
          "numactl --cpunodebind=" + node + " --membind=" + node + " epochbench ..."};
}

// Whether the sensor of this name measures a CPU. Others measure radios, disks, batteries, GPUs and mainboards.
bool measures_cpu(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::array kNames{"x86_pkg_temp", "coretemp", "k10temp", "k8temp", "zenpower", "b0d4", "soc_thermal", "soc-thermal"};
  return contains(kNames, name) || name.find("cpu") != std::string::npos;
}

// The highest temperature of CPUs, by the kernel's thermal zones and hardware monitors, in degrees Celsius.
std::optional<double> temperature(const std::string& root) {
  std::optional<double> highest;
  const auto add = [&](const std::filesystem::path& file) {
    if (const auto milli = read_number(file.string()))
      highest = std::max(highest.value_or(-273), static_cast<double>(*milli) / 1000);
  };
  std::error_code none;
  for (const auto& zone : std::filesystem::directory_iterator(root + "/sys/class/thermal", none))
    if (measures_cpu(read_line((zone.path() / "type").string()).value_or(""))) add(zone.path() / "temp");
  for (const auto& monitor : std::filesystem::directory_iterator(root + "/sys/class/hwmon", none)) {
    if (!measures_cpu(read_line((monitor.path() / "name").string()).value_or(""))) continue;
    for (const auto& each : std::filesystem::directory_iterator(monitor.path(), none)) {
      const std::string name = each.path().filename().string();
      if (name.starts_with("temp") && name.ends_with("_input")) add(each.path());
    }
  }
  return highest;
}

SystemCheck thermal(const std::vector<int>& cpus, const std::string& root) {
  constexpr double kHotCelsius = 85;
  const char* const why = "a hot CPU lowers its clock, and raises it again later";
  const char* const fix =
      "grep . /sys/class/thermal/thermal_zone*/temp /sys/class/hwmon/hwmon*/temp*_input    until they have fallen";
  std::optional<std::int64_t> throttled;
  for (const int cpu : cpus)
    for (const char* kind : {"core", "package"}) {
      const auto count = read_number(cpu_folder(root, cpu) + "/thermal_throttle/" + kind + "_throttle_count");
      if (count) throttled = std::max(throttled.value_or(0), *count);
    }
  const auto celsius = temperature(root);
  const std::string now = celsius ? significant(*celsius, 2) + " °C" : "";
  if (celsius && *celsius >= kHotCelsius) return {"thermal state", Disturbance::disturbs, now, why, fix};
  if (throttled.value_or(0) > 0)
    return {"thermal state", Disturbance::disturbs,
            "throttled " + counted(static_cast<std::size_t>(*throttled), "time", "times") + " since the start" +
                (now.empty() ? "" : ", now " + now),
            why, fix};
  if (!celsius && !throttled) return unknown("thermal state", "the kernel shows no sensor of the CPU");
  return quiet("thermal state", now.empty() ? "not throttled since the start" : now);
}

struct CpuTime {
  double busy_seconds = 0, idle_seconds = 0, own_seconds = 0;
};

std::optional<CpuTime> cpu_time(const std::string& root) {
  const auto stat = read_system_file(root + "/proc/stat");
  std::istringstream numbers(stat.value_or(""));
  std::string word;
  double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
  if (!(numbers >> word >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal) || word != "cpu")
    return std::nullopt;
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  return CpuTime{(user + nice + system + irq + softirq + steal) / ticks, (idle + iowait) / ticks,
                 seconds(used.ru_utime) + seconds(used.ru_stime)};
}

}  // namespace

std::vector<SystemCheck> system_checks(const std::vector<int>& cpus, std::optional<double> foreign_cores,
                                       const std::string& root) {
  return {governor(cpus, root),        turbo(root),     smt(root),        huge_pages(root),   quota(cpus, root),
          foreign_load(foreign_cores), container(root), numa(cpus, root), thermal(cpus, root)};
}

std::optional<double> foreign_cores_during(const std::function<void()>& work, const std::string& root) {
  const auto before = cpu_time(root);
  const double begin = steady_seconds();
  work();
  const double seconds = steady_seconds() - begin;
  const auto after = cpu_time(root);
  if (!before || !after) return std::nullopt;
  const auto counted = [](const CpuTime& time) { return time.busy_seconds + time.idle_seconds; };
  if (counted(*after) <= counted(*before)) return std::nullopt;  // too short to say, or it stands still, as in some sandboxes
  const double others = after->busy_seconds - before->busy_seconds - (after->own_seconds - before->own_seconds);
  return std::max(0.0, others / seconds);
}

std::optional<double> foreign_cores_now(double seconds, const std::string& root) {
  return foreign_cores_during([&] { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }, root);
}

}  // namespace epochbench
