// What is read from /proc and /sys, on made-up machines under a temporary folder and on this one.
#include "src/machine/environment.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <sched.h>
#include <unistd.h>

#include "src/machine/cgroup.h"
#include "src/machine/clean_start.h"
#include "src/machine/system_files.h"
#include "src/machine/topology.h"
#include "src/worker/runner.h"

namespace epochbench {
namespace {

using testing::ElementsAre;
using testing::Optional;
using testing::Pair;

class MachineTest : public testing::Test {
 protected:
  MachineTest() {
    std::string name = (std::filesystem::temp_directory_path() / "epochbench-machine-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
    root = name;
  }
  ~MachineTest() override { std::filesystem::remove_all(root); }
  void file(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root + path).parent_path());
    std::ofstream(root + path) << text;
  }
  void cgroup_v2() const {
    file("/proc/self/cgroup", "0::/user/job\n");
    file("/proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n");
  }
  void cgroup_v1() const {
    file("/proc/self/cgroup", "5:cpu,cpuacct:/job\n4:memory:/job\n0::/\n");
    file("/proc/self/mountinfo",
         "30 24 0:26 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n31 24 0:27 / /cg/memory rw - cgroup cgroup rw,memory\n");
  }
  void cpu(int id, int package, int core) const {
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(id) + "/topology/";
    file(folder + "physical_package_id", std::to_string(package) + "\n");
    file(folder + "core_id", std::to_string(core) + "\n");
  }
  std::string root;
};

TEST_F(MachineTest, QuotaIsTheLeastOfAllLevels) {
  cgroup_v2();
  EXPECT_EQ(cgroup_cpu_quota(root), std::nullopt);
  file("/sys/fs/cgroup/user/job/cpu.max", "max 100000\n");
  EXPECT_EQ(cgroup_cpu_quota(root), std::nullopt);
  file("/sys/fs/cgroup/user/cpu.max", "250000 100000\n");
  EXPECT_THAT(cgroup_cpu_quota(root), Optional(2.5));
  file("/sys/fs/cgroup/user/job/cpu.max", "150000 100000\n");
  EXPECT_THAT(cgroup_cpu_quota(root), Optional(1.5));
}

TEST_F(MachineTest, QuotaOfVersion1) {
  cgroup_v1();
  file("/cg/cpu/job/cpu.cfs_period_us", "100000\n");
  file("/cg/cpu/job/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(cgroup_cpu_quota(root), std::nullopt);
  file("/cg/cpu/job/cpu.cfs_quota_us", "400000\n");
  EXPECT_THAT(cgroup_cpu_quota(root), Optional(4.0));
}

TEST_F(MachineTest, QuotaOfAContainerThatShowsTheHostsPath) {
  cgroup_v2();
  file("/sys/fs/cgroup/cpu.max", "300000 100000\n");  // the folder /user/job is not mounted here
  EXPECT_THAT(cgroup_cpu_quota(root), Optional(3.0));
}

TEST_F(MachineTest, QuotaOfAGroupInsideAContainer) {
  file("/proc/self/cgroup", "5:cpu,cpuacct:/docker/4f/inner\n0::/\n");
  file("/proc/self/mountinfo", "30 24 0:26 /docker/4f /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n");
  file("/cg/cpu/inner/cpu.cfs_period_us", "100000\n");
  file("/cg/cpu/inner/cpu.cfs_quota_us", "100000\n");
  file("/cg/cpu/cpu.cfs_period_us", "100000\n");
  file("/cg/cpu/cpu.cfs_quota_us", "300000\n");
  EXPECT_THAT(cgroup_cpu_quota(root), Optional(1.0));
}

// systemd writes a hyphen in the name of a unit as \x2d, and the kernel that backslash as \134.
TEST_F(MachineTest, QuotaOfAGroupWhoseNameHasABackslash) {
  file("/proc/self/cgroup", "0::/machine.slice/machine-a\\x2db.scope/inner\n");
  file("/proc/self/mountinfo", "30 24 0:26 /machine.slice/machine-a\\134x2db.scope /my\\040cg rw - cgroup2 cgroup2 rw\n");
  file("/my cg/inner/cpu.max", "100000 100000\n");
  file("/my cg/cpu.max", "300000 100000\n");
  EXPECT_THAT(cgroup_cpu_quota(root), Optional(1.0));
}

TEST_F(MachineTest, QuotaWhereOneHierarchyIsMountedTwice) {
  file("/proc/self/cgroup", "0::/a/b/c\n");
  file("/part/b/c/cpu.max", "300000 100000\n");
  file("/sys/fs/cgroup/a/cpu.max", "200000 100000\n");
  const std::string part = "30 24 0:26 /a /part rw - cgroup2 cgroup2 rw\n",
                    elsewhere = "32 24 0:26 /x /other rw - cgroup2 cgroup2 rw\n",
                    whole = "31 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
  file("/proc/self/mountinfo", part + elsewhere);
  EXPECT_THAT(cgroup_cpu_quota(root), Optional(3.0));
  file("/proc/self/mountinfo", part + elsewhere + whole);
  EXPECT_THAT(cgroup_cpu_quota(root), Optional(2.0)) << "the mount that shows most levels";
  file("/proc/self/mountinfo", whole + "33 31 0:26 /a/b /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  EXPECT_EQ(cgroup_cpu_quota(root), std::nullopt) << "what is mounted over the other hides it";
}

TEST_F(MachineTest, MemoryCountsCachedFilesAsFree) {
  cgroup_v2();
  EXPECT_FALSE(cgroup_memory(root));
  file("/sys/fs/cgroup/user/job/memory.max", "1000\n");
  file("/sys/fs/cgroup/user/job/memory.current", "900\n");
  file("/sys/fs/cgroup/user/job/memory.stat", "anon 500\ninactive_file 300\nactive_file 100\n");
  ASSERT_TRUE(cgroup_memory(root));
  EXPECT_EQ(cgroup_memory(root)->available_bytes, 500);
  file("/sys/fs/cgroup/user/memory.max", "5000\n");  // a parent that is nearly full limits more
  file("/sys/fs/cgroup/user/memory.current", "4900\n");
  EXPECT_EQ(cgroup_memory(root)->available_bytes, 100);
  EXPECT_EQ(cgroup_memory(root)->limit_bytes, 5000);
}

TEST_F(MachineTest, MemoryThatIsSlowedDownAboveALimitIsLimited) {
  cgroup_v2();
  file("/sys/fs/cgroup/user/job/memory.max", "max\n");
  file("/sys/fs/cgroup/user/job/memory.high", "800\n");
  file("/sys/fs/cgroup/user/job/memory.current", "700\n");
  ASSERT_TRUE(cgroup_memory(root));
  EXPECT_EQ(cgroup_memory(root)->available_bytes, 100);
  file("/sys/fs/cgroup/user/job/memory.high", "max\n");
  EXPECT_FALSE(cgroup_memory(root));
}

TEST_F(MachineTest, MemoryOfVersion1) {
  cgroup_v1();
  file("/cg/memory/job/memory.limit_in_bytes", "9223372036854771712\n");  // how it writes "no limit"
  file("/cg/memory/job/memory.usage_in_bytes", "900\n");
  EXPECT_FALSE(cgroup_memory(root));
  file("/cg/memory/job/memory.limit_in_bytes", "1000\n");
  file("/cg/memory/job/memory.stat", "inactive_file 7\ntotal_inactive_file 50\n");
  EXPECT_EQ(cgroup_memory(root)->available_bytes, 150);
}

TEST_F(MachineTest, KillsForWantOfMemoryAreCounted) {
  EXPECT_FALSE(oom_kill_count(root));
  cgroup_v2();
  file("/sys/fs/cgroup/user/job/memory.events", "oom 9\noom_kill 2\noom_group_kill 0\n");
  EXPECT_THAT(oom_kill_count(root), Optional(2));
  file("/proc/vmstat", "pgfault 1\noom_kill 3\n");
  EXPECT_THAT(oom_kill_count(root), Optional(5));
}

TEST_F(MachineTest, SiblingsAreOneCore) {
  cpu(0, 0, 0);
  cpu(1, 0, 1);
  cpu(2, 1, 0);
  cpu(3, 1, 1);
  cpu(4, 0, 0);
  cpu(5, 0, 1);
  EXPECT_EQ(physical_cores(topology({0, 1, 2, 3, 4, 5}, root)), 4);
  EXPECT_EQ(physical_cores(topology({0, 4}, root)), 1);
  // One of each core first, a package at a time.
  EXPECT_THAT(placement(topology({0, 1, 2, 3, 4, 5}, root)), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(placement(topology({5, 4, 1, 2}, root)), ElementsAre(4, 1, 2, 5));
}

TEST_F(MachineTest, CoresOfTwoDiesMayHaveTheSameNumber) {
  for (int id : {0, 1, 2, 3}) {
    cpu(id, 0, 0);
    file("/sys/devices/system/cpu/cpu" + std::to_string(id) + "/topology/thread_siblings_list", id < 2 ? "0-1\n" : "2,3\n");
  }
  EXPECT_EQ(physical_cores(topology({0, 1, 2, 3}, root)), 2);
  EXPECT_EQ(physical_cores(topology({1, 3}, root)), 2);
  EXPECT_THAT(placement(topology({0, 1, 2, 3}, root)), ElementsAre(0, 2, 1, 3));
}

TEST_F(MachineTest, SlowKindsOfCoresComeLast) {
  for (int id = 0; id < 6; ++id) {
    cpu(id, 0, id < 4 ? id / 2 : id);  // two fast cores with two threads each, two slow ones
    file("/sys/devices/system/cpu/cpu" + std::to_string(id) + "/cpu_capacity", id < 2 ? "1024\n" : id < 4 ? "990\n" : "680\n");
  }
  const std::vector<LogicalCpu> all = topology({0, 1, 2, 3, 4, 5}, root);
  EXPECT_EQ(physical_cores(all), 4);
  EXPECT_EQ(physical_cores(fast_cpus(all)), 2);
  EXPECT_THAT(placement(all), ElementsAre(0, 2, 1, 3, 4, 5));
  EXPECT_EQ(physical_cores(fast_cpus(topology({4, 5}, root))), 2) << "no other kind may be used";
}

TEST_F(MachineTest, SlowKindsOfCoresByTheListsOfIntel) {
  for (int id = 0; id < 4; ++id) cpu(id, 0, id);
  file("/sys/devices/cpu_core/cpus", "0-1\n");
  file("/sys/devices/cpu_atom/cpus", "2-3\n");
  EXPECT_EQ(physical_cores(fast_cpus(topology({0, 1, 2, 3}, root))), 2);
}

TEST_F(MachineTest, TopologyWithoutSys) {
  EXPECT_EQ(physical_cores(topology({0, 1, 2}, root)), 3);  // nothing known: each CPU counts
  file("/proc/cpuinfo",
       "processor\t: 0\nphysical id\t: 0\ncore id\t\t: 3\n\nprocessor\t: 1\nphysical id\t: 0\ncore id\t\t: 3\n\n");
  EXPECT_EQ(physical_cores(topology({0, 1}, root)), 1);
}

TEST_F(MachineTest, CachesOfTheKernel) {
  const auto cache = [&](int index, const char* level, const char* type, const char* size) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    file(folder + "level", level);
    file(folder + "type", type);
    file(folder + "size", size);
  };
  EXPECT_FALSE(caches_of_kernel(root).l1d_bytes);
  cache(0, "1\n", "Data\n", "48K\n");
  cache(1, "1\n", "Instruction\n", "64K\n");
  cache(2, "2\n", "Unified\n", "2048K\n");
  cache(3, "3\n", "Unified\n", "105M\n");
  EXPECT_THAT(caches_of_kernel(root).l1d_bytes, Optional(48 << 10));
  EXPECT_THAT(caches_of_kernel(root).l2_bytes, Optional(2 << 20));
  EXPECT_THAT(caches_of_kernel(root).l3_bytes, Optional(105 << 20));
}

std::string value_of(const EnvironmentSettings& settings, const std::string& key) {
  const auto found = settings.find(key);
  return found == settings.end() ? "" : found->second;
}

TEST(Placement, ThreadsAreBoundToACoreEach) {
  const EnvironmentSettings settings = openmp_settings(2, {{0, 0, 0}, {1, 0, 0}, {2, 0, 1}, {3, 0, 1}}, std::nullopt);
  EXPECT_EQ(value_of(settings, "OMP_NUM_THREADS"), "2");
  EXPECT_EQ(value_of(settings, "OMP_PROC_BIND"), "close");
  EXPECT_EQ(value_of(settings, "OMP_PLACES"), "{0},{2}");
}

TEST(Placement, ThreadsAreFreeUnderAQuotaOrWhenTooMany) {
  const std::vector<LogicalCpu> cpus = {{0, 0, 0}, {1, 0, 1}};
  EXPECT_EQ(value_of(openmp_settings(1, cpus, 1.5), "OMP_PROC_BIND"), "false");
  EXPECT_EQ(value_of(openmp_settings(3, cpus, std::nullopt), "OMP_PROC_BIND"), "false");
  EXPECT_EQ(value_of(openmp_settings(2, cpus, 2.0), "OMP_PROC_BIND"), "close");
}

TEST(Placement, IsAsItWasAskedForWhateverTheQuotaSays) {
  const std::vector<LogicalCpu> cpus = {{0, 0, 0}, {1, 0, 1}};
  const EnvironmentSettings cores = openmp_settings(1, cpus, 1.5, Pinning::cores),
                            none = openmp_settings(2, cpus, std::nullopt, Pinning::none);
  EXPECT_EQ(value_of(cores, "OMP_PROC_BIND"), "close");
  EXPECT_EQ(value_of(cores, "OMP_PLACES"), "{0}");
  EXPECT_EQ(value_of(none, "OMP_PROC_BIND"), "false");
  EXPECT_EQ(value_of(none, "OMP_PLACES"), "");
}

TEST(Placement, IsReadFromTheEnvironment) {
  unsetenv("OMP_PROC_BIND");
  EXPECT_FALSE(threads_are_pinned());
  setenv("OMP_PROC_BIND", "FALSE", 1);
  EXPECT_FALSE(threads_are_pinned());
  setenv("OMP_PROC_BIND", "close", 1);
  EXPECT_TRUE(threads_are_pinned());
  unsetenv("OMP_PROC_BIND");
}

TEST(EnvironmentAtStart, IsWhatWasTakenOutAndWhatTheLoaderFollows) {
  setenv("EPOCHBENCH_STARTED_WITH", "OMP_PLACES={0},{1}\x1fOMP_NUM_THREADS=\x1fKMP_AFFINITY=a=b\x1f", 1);
  setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0", 1);
  unsetenv("LD_PRELOAD");
  EXPECT_THAT(environment_at_start(),
              ElementsAre(Pair("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0"), Pair("KMP_AFFINITY", "a=b"),
                          Pair("OMP_NUM_THREADS", ""), Pair("OMP_PLACES", "{0},{1}")));
  unsetenv("EPOCHBENCH_STARTED_WITH");
  unsetenv("GLIBC_TUNABLES");
}

TEST(HugePages, AreCountedWhereTheKernelTells) {
  if (const auto bytes = huge_page_bytes()) {
    EXPECT_GE(*bytes, 0);
    EXPECT_EQ(*bytes % 1024, 0);
  }
}

TEST(SystemFiles, ListsOfCpus) {
  EXPECT_THAT(parse_cpu_list("0-2,5,7-8\n"), ElementsAre(0, 1, 2, 5, 7, 8));
  EXPECT_TRUE(parse_cpu_list("").empty());
  EXPECT_TRUE(parse_cpu_list("none").empty());
}

TEST(UsageOfMachine, BusyIsAllButIdle) {
  EXPECT_THAT(parse_busy_seconds("cpu  100 20 30 4000 500 6 7 8 90 0\ncpu0 1", 100), Optional(1.71));
  EXPECT_FALSE(parse_busy_seconds("cpu0 1 2 3", 100));
}

TEST(UsageOfProcess, GrowsWithWorkAndPages) {
  const Usage before = read_usage();
  constexpr std::size_t kPages = 200;
  std::vector<char> memory(kPages * 65536);
  volatile double sum = 0;
  for (int i = 0; i < 30000000; ++i) sum = sum + i;
  const Usage after = read_usage();
  EXPECT_GT(after.own_cpu_seconds, before.own_cpu_seconds);
  EXPECT_GT(after.page_faults, before.page_faults);
  EXPECT_EQ(memory.back(), 0);
}

TEST(ThisMachine, ThreadsFitTheAffinityMask) {
  EXPECT_GE(default_threads(), 1);
  EXPECT_LE(default_threads(), logical_cpus_allowed());
  std::thread([] {  // affinity is a thread's own
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(affinity_cpus().front(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(logical_cpus_allowed(), 1);
    EXPECT_EQ(default_threads(), 1);
  })
      .join();
}

TEST(ThisMachine, CpuIsDescribed) {
  const CpuInfo info = cpu_info();
  EXPECT_FALSE(info.model.empty());
  EXPECT_GE(info.cores.value(), 1);
  EXPECT_GE(info.cores.value(), info.sockets.value());
  EXPECT_GT(info.memory_bytes.value(), 1 << 20);
  EXPECT_THAT(info.frequency_scaling, testing::AnyOf("yes", "no", "unknown"));
#if defined(__x86_64__)
  EXPECT_GE(cache_sizes().l1d_bytes.value(), 8 << 10);
  EXPECT_LE(cache_sizes().l3_bytes.value_or(0), std::int64_t{4} << 30);
#endif
}

TEST(ThisMachine, ContextIsComplete) {
  const Context context = describe_context({"epochbench", "info"});
  EXPECT_THAT(context.kernel.value_or(""), testing::StartsWith("Linux "));
  EXPECT_NE(context.os, "");  // null where the system has no os-release
  EXPECT_THAT(context.date, testing::MatchesRegex("20..-..-..T..:..:..Z"));
  EXPECT_FALSE(context.version.empty());
  EXPECT_FALSE(context.build_type.empty());
  EXPECT_THAT(context.compiler, testing::ContainsRegex("^(gcc|clang) [0-9]"));
  EXPECT_THAT(*context.command_line, ElementsAre("epochbench", "info"));
  EXPECT_EQ(context.git_sha.has_value(), context.git_dirty.has_value());
}

TEST(ThisMachine, MemoryIsCounted) {
  EXPECT_GT(available_memory_bytes(), 0);
  const std::int64_t before = resident_bytes().value();
  std::vector<char> memory(64 << 20, 1);
  EXPECT_GE(resident_bytes().value(), before + (32 << 20));
  EXPECT_GE(peak_resident_bytes().value(), before + (32 << 20));
  EXPECT_EQ(memory.back(), 1);
}

}  // namespace
}  // namespace epochbench
