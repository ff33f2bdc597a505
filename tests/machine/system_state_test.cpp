// What disturbs measurements, on made-up machines.
#include "src/machine/system/system_state.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace epochbench {
namespace {

using testing::HasSubstr;

class SystemState : public testing::Test {
 protected:
  SystemState() {
    std::string name = (std::filesystem::temp_directory_path() / "epochbench-system-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
    root = name;
  }
  ~SystemState() override { std::filesystem::remove_all(root); }
  void file(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root + path).parent_path());
    std::ofstream(root + path) << text;
  }
  SystemCheck check(const std::string& name, std::optional<double> foreign_cores = 0.0) const {
    for (const SystemCheck& each : system_checks({0, 1}, foreign_cores, root))
      if (each.name == name) return each;
    ADD_FAILURE() << name;
    return {};
  }
  // A disturbance says why it matters and what changes it; nothing else does.
  void expect(const std::string& name, Disturbance state, const std::string& found, const std::string& fix = "") const {
    const SystemCheck each = check(name);
    EXPECT_EQ(each.state, state) << name;
    EXPECT_THAT(each.found, HasSubstr(found)) << name;
    EXPECT_THAT(each.fix, HasSubstr(fix)) << name;
    EXPECT_EQ(each.why.empty(), state != Disturbance::disturbs) << name;
    EXPECT_EQ(each.fix.empty(), state != Disturbance::disturbs) << name;
  }
  std::string root;
};

TEST_F(SystemState, IsNotKnownWhereTheKernelTellsNothing) {
  for (const SystemCheck& each : system_checks({0, 1}, std::nullopt, root)) {
    EXPECT_EQ(each.state, Disturbance::unknown) << each.name;
    EXPECT_FALSE(each.found.empty()) << each.name << " says why";
  }
  EXPECT_EQ(foreign_cores_now(0, root), std::nullopt);
}

TEST_F(SystemState, LoadIsUnknownWhereTheKernelCountsNoTime) {
  file("/proc/stat", "cpu  0 0 0 0 0 0 0 0 0 0\n");
  EXPECT_EQ(foreign_cores_now(0.15, root), std::nullopt);
}

// The process's own time does not count, and what the kernel counts beyond it is that of others.
TEST_F(SystemState, LoadIsWhatOthersTakeMeanwhile) {
  file("/proc/stat", "cpu  1000 0 0 9000 0 0 0 0 0 0\n");
  int calls = 0;
  const auto busy = foreign_cores_during(
      [&] {
        ++calls;
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        file("/proc/stat", "cpu  1100 0 0 9100 0 0 0 0 0 0\n");  // 100 ticks of 10 ms
      },
      root);
  EXPECT_EQ(calls, 1);
  ASSERT_TRUE(busy);
  EXPECT_GT(*busy, 1 / 0.2 / 2);
  EXPECT_LE(*busy, 1 / 0.2);
  std::filesystem::remove(root + "/proc/stat");
  EXPECT_EQ(foreign_cores_during([&] { ++calls; }, root), std::nullopt);
  EXPECT_EQ(calls, 2) << "the work is done though nobody counts";
}

TEST_F(SystemState, KnowsTheGovernorOfTheCpusInUse) {
  const auto set = [&](int cpu, const char* word) {
    file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpufreq/scaling_governor", std::string(word) + "\n");
  };
  set(0, "performance");
  set(1, "performance");
  set(2, "powersave");
  expect("governor", Disturbance::none, "performance on 2 of 2 CPUs");
  set(1, "powersave");
  expect("governor", Disturbance::disturbs, "powersave on 1 of 2 CPUs", "cpupower frequency-set -g performance");
}

TEST_F(SystemState, KnowsBothSwitchesOfTurbo) {
  file("/sys/devices/system/cpu/cpufreq/boost", "1\n");
  expect("turbo", Disturbance::disturbs, "on", "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost");
  file("/sys/devices/system/cpu/cpufreq/boost", "0\n");
  expect("turbo", Disturbance::none, "off");
  file("/sys/devices/system/cpu/intel_pstate/no_turbo", "0\n");
  expect("turbo", Disturbance::disturbs, "on", "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo");
  file("/sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
  expect("turbo", Disturbance::none, "off");
}

TEST_F(SystemState, KnowsSiblingsAndHugePages) {
  file("/sys/devices/system/cpu/smt/active", "1\n");
  expect("SMT siblings", Disturbance::disturbs, "on", "smt/control");
  file("/sys/devices/system/cpu/smt/active", "0\n");
  expect("SMT siblings", Disturbance::none, "none");
  for (const char* word : {"[always] madvise never", "always [madvise] never"}) {
    file("/sys/kernel/mm/transparent_hugepage/enabled", word);
    EXPECT_EQ(check("huge pages").state, Disturbance::none) << word;
  }
  file("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
  expect("huge pages", Disturbance::disturbs, "never", "echo madvise | sudo tee");
}

TEST_F(SystemState, KnowsTheQuotaOfTheGroup) {
  file("/proc/self/cgroup", "0::/job\n");
  file("/proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  expect("CPU quota", Disturbance::none, "none");
  file("/sys/fs/cgroup/job/cpu.max", "150000 100000\n");
  expect("CPU quota", Disturbance::disturbs, "1.5 of 2 CPUs", "--cpuset-cpus");
  file("/sys/fs/cgroup/job/cpu.max", "400000 100000\n");
  expect("CPU quota", Disturbance::none, "not below");
}

TEST_F(SystemState, HasTheThresholdOfForeignLoadOfEveryOutput) {
  EXPECT_EQ(check("foreign load", 0.14).state, Disturbance::none);
  EXPECT_EQ(check("foreign load", 0.15).state, Disturbance::disturbs);
  EXPECT_THAT(check("foreign load", 1.84).found, HasSubstr("1.8 cores"));
}

TEST_F(SystemState, KnowsContainers) {
  file("/proc/self/cgroup", "0::/user.slice\n");
  expect("container", Disturbance::none, "none");
  file("/proc/self/cgroup", "4:cpu:/kubepods/burstable/pod1\n");
  expect("container", Disturbance::disturbs, "Kubernetes");
  file("/run/.containerenv", "");
  expect("container", Disturbance::disturbs, "Podman");
}

TEST_F(SystemState, KnowsContainersWhoseGroupSaysNothing) {
  file("/proc/self/cgroup", "0::/\n");
  file("/proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 22 0:30 / /home rw - overlay overlay rw\n");
  expect("container", Disturbance::none, "none");
  file("/proc/self/mountinfo", "22 1 0:40 / / rw,relatime - overlay overlay rw,lowerdir=/a\n");
  expect("container", Disturbance::disturbs, "overlay");
  file("/var/run/secrets/kubernetes.io/serviceaccount/token", "");
  expect("container", Disturbance::disturbs, "Kubernetes");
}

TEST_F(SystemState, LooksAtTheNodesOfTheCpusInUse) {
  file("/sys/devices/system/node/online", "0-1\n");
  file("/sys/devices/system/node/node0/cpulist", "0-1\n");
  file("/sys/devices/system/node/node1/cpulist", "2-3\n");
  expect("NUMA", Disturbance::none, "this process is on one node");
  file("/sys/devices/system/node/node0/cpulist", "0\n");
  file("/sys/devices/system/node/node1/cpulist", "1\n");
  expect("NUMA", Disturbance::disturbs, "2 nodes", "numactl --cpunodebind=0 --membind=0");
}

TEST_F(SystemState, KnowsHeatAndWhatItDid) {
  file("/sys/class/thermal/thermal_zone0/temp", "54000\n");
  file("/sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n");
  expect("thermal state", Disturbance::none, "54 °C");
  file("/sys/class/thermal/thermal_zone1/temp", "91000\n");
  file("/sys/class/thermal/thermal_zone1/type", "cpu-thermal\n");
  expect("thermal state", Disturbance::disturbs, "91 °C");
  file("/sys/class/thermal/thermal_zone1/temp", "40000\n");
  file("/sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "12\n");
  expect("thermal state", Disturbance::disturbs, "throttled 12 times since the start, now 54 °C");
}

TEST_F(SystemState, HeatOfOtherPartsIsNotTheCpus) {
  for (const char* other : {"iwlwifi_1", "acpitz", "INT3400 Thermal", "nvme", "battery"}) {
    file("/sys/class/thermal/thermal_zone0/temp", "99000\n");
    file("/sys/class/thermal/thermal_zone0/type", std::string(other) + "\n");
    file("/sys/class/hwmon/hwmon0/temp1_input", "99000\n");
    file("/sys/class/hwmon/hwmon0/name", std::string(other) + "\n");
    expect("thermal state", Disturbance::unknown, "no sensor of the CPU");
  }
  file("/sys/class/hwmon/hwmon1/name", "k10temp\n");  // AMD's CPUs have no thermal zone
  file("/sys/class/hwmon/hwmon1/temp1_input", "61000\n");
  file("/sys/class/hwmon/hwmon1/temp3_input", "88000\n");
  expect("thermal state", Disturbance::disturbs, "88 °C");
}

}  // namespace
}  // namespace epochbench
