// CPU packages' counters on made-up machines.
#include "src/machine/rapl.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "tests/support/fake_powercap.h"

namespace epochbench {
namespace {

using test::FakePowercap;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> names(const RaplDomains& domains) {
  std::vector<std::string> names;
  for (const RaplPackage& package : domains.packages) names.push_back(package.name);
  return names;
}

TEST(FindRapl, TakesPackagesAloneAndEachOnce) {
  const FakePowercap machine;
  machine.domain("intel-rapl:0", "package-0", 100);
  machine.domain("intel-rapl:0:0", "core", 60);
  machine.domain("intel-rapl:0:1", "dram", 30);
  machine.domain("intel-rapl:1", "package-1", 200);
  machine.domain("intel-rapl:2", "psys", 1000);
  machine.domain("intel-rapl-mmio:0", "package-0", 100);
  machine.domain("intel-rapl", "", 0);  // the control type itself
  machine.write("intel-rapl/enabled", "1");
  const RaplDomains domains = find_rapl(machine.folder);
  EXPECT_FALSE(domains.obstacle) << *domains.obstacle;
  EXPECT_THAT(names(domains), ElementsAre("package-0", "package-1"));
  EXPECT_EQ(domains.packages[0].counter, machine.folder + "/intel-rapl:0/energy_uj");
  EXPECT_NEAR(domains.packages[0].range_joules.value_or(0), 262143.32885, 1e-6);
}

// AMD's packages stand under Intel's name, with "core" as their one sub-domain; their dies may be counted one by one.
TEST(FindRapl, TakesAmdAndDies) {
  const FakePowercap machine;
  machine.domain("intel-rapl:0", "package-0-die-0", 100, 65532610987);
  machine.domain("intel-rapl:0:0", "core", 60, 65532610987);
  machine.domain("amd-rapl:1", "package-0-die-1", 9'000'000, 65532610987);
  EXPECT_THAT(names(find_rapl(machine.folder)), ElementsAre("package-0-die-0", "package-0-die-1"));
}

// Threadripper 1950X, and EPYC of Zen 1 and 2.
TEST(FindRapl, CountsAPackageOnceWhoseDiesAllShowItsCounter) {
  const FakePowercap machine;
  machine.domain("intel-rapl:0", "package-0-die-0", 700'000'000);
  machine.domain("intel-rapl:1", "package-0-die-1", 700'300'000);
  machine.domain("intel-rapl:2", "package-1-die-0", 700'000'000);
  machine.domain("intel-rapl:3", "package-1-die-1", 700'000'000);
  const RaplDomains domains = find_rapl(machine.folder);
  EXPECT_THAT(names(domains), ElementsAre("package-0", "package-1"));
  EXPECT_EQ(domains.packages[0].counter, machine.folder + "/intel-rapl:0/energy_uj");
  const std::unique_ptr<EnergyMeter> meter = make_rapl_meter(domains);
  meter->begin(0);
  for (const char* domain : {"intel-rapl:0", "intel-rapl:1", "intel-rapl:2", "intel-rapl:3"})
    machine.count(domain, 710'000'000);
  meter->advance(0.1);
  EXPECT_NEAR(meter->drawn().joules, 20, 1e-9);
}

TEST(FindRapl, CountersThatStandAtZeroAreNotOne) {
  const FakePowercap machine;
  machine.domain("intel-rapl:0", "package-0-die-0", 0);
  machine.domain("intel-rapl:1", "package-0-die-1", 0);
  EXPECT_THAT(names(find_rapl(machine.folder)), ElementsAre("package-0-die-0", "package-0-die-1"));
}

// As Linux nests it: the sub-domain "dram" lies in its package's folder.
TEST(FindRapl, TakesTheMemoryOfAllPackagesOrOfNone) {
  const FakePowercap machine;
  machine.domain("intel-rapl:0", "package-0", 100);
  machine.domain("intel-rapl:0/intel-rapl:0:0", "core", 60);
  machine.domain("intel-rapl:0/intel-rapl:0:1", "dram", 30, 65'712'999'613);
  machine.domain("intel-rapl:1", "package-1", 200);
  EXPECT_THAT(find_rapl(machine.folder).memory, IsEmpty()) << "the other package has none";
  machine.domain("intel-rapl:1/intel-rapl:1:0", "dram", 40, 65'712'999'613);
  const RaplDomains domains = find_rapl(machine.folder);
  ASSERT_EQ(domains.memory.size(), 2u);
  EXPECT_EQ(domains.memory[0].name, "package-0 dram");
  EXPECT_EQ(domains.memory[1].counter, machine.folder + "/intel-rapl:1/intel-rapl:1:0/energy_uj");
  EXPECT_NEAR(domains.memory[1].range_joules.value_or(0), 65712.999613, 1e-6);
  EXPECT_THAT(names(domains), ElementsAre("package-0", "package-1"));
}

TEST(FindRapl, AddsTheMemoryAndItsWraps) {
  const FakePowercap machine;
  machine.domain("intel-rapl:0", "package-0", 5'000'000);
  machine.domain("intel-rapl:0/intel-rapl:0:0", "dram", 999'000'000, 1'000'000'000);
  const std::unique_ptr<EnergyMeter> both = make_rapl_meter(find_rapl(machine.folder));
  both->begin(0);
  machine.count("intel-rapl:0", 15'000'000);
  machine.count("intel-rapl:0/intel-rapl:0:0", 2'000'000);  // over 1000 J: 3 J
  both->advance(0.01);
  EXPECT_FALSE(both->drawn().obstacle) << *both->drawn().obstacle;
  EXPECT_NEAR(both->drawn().joules, 13, 1e-9);
}

TEST(FindRapl, SaysWhyThereIsNone) {
  EXPECT_THAT(find_rapl("/nowhere/powercap").obstacle.value_or(""), HasSubstr("/nowhere/powercap has no energy counter"));
  const FakePowercap machine;
  EXPECT_THAT(find_rapl(machine.folder).obstacle.value_or(""), HasSubstr("a virtual machine"));
  machine.domain("intel-rapl:0", "psys", 100);
  EXPECT_THAT(find_rapl(machine.folder).obstacle.value_or(""), HasSubstr("a virtual machine"));
}

TEST(FindRapl, KnowsAContainerThatHidesTheCounters) {
  const FakePowercap machine;
  std::filesystem::create_symlink("/nowhere/intel-rapl:0", machine.folder + "/intel-rapl:0");
  EXPECT_THAT(find_rapl(machine.folder).obstacle.value_or(""), HasSubstr("EPOCHBENCH_POWERCAP"));
}

TEST(FindRapl, NamesTheCommandThatOpensACounter) {
  const FakePowercap machine;
  machine.domain("intel-rapl:0", "package-0", 100);
  const std::string counter = machine.folder + "/intel-rapl:0/energy_uj";
  std::filesystem::permissions(counter, std::filesystem::perms::none);
  const bool root = geteuid() == 0;
  if (root) {
    ASSERT_EQ(seteuid(65534), 0);
  }
  const RaplDomains domains = find_rapl(machine.folder);
  if (root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  EXPECT_EQ(domains.obstacle, counter + " may be read by root alone: sudo chmod a+r " + machine.folder + "/*/energy_uj");
}

TEST(FindRapl, OneBadPackageSpoilsTheSum) {
  const FakePowercap machine;
  machine.domain("intel-rapl:0", "package-0", 100);
  machine.domain("intel-rapl:1", "package-1", 100);
  machine.write("intel-rapl:1/energy_uj", "much");
  EXPECT_THAT(find_rapl(machine.folder).obstacle.value_or(""), HasSubstr("intel-rapl:1/energy_uj contains no number"));
  machine.remove("intel-rapl:1/energy_uj");
  EXPECT_THAT(find_rapl(machine.folder).obstacle.value_or(""), HasSubstr("intel-rapl:1/energy_uj cannot be opened: No such"));
}

class RaplMeter : public testing::Test {
 protected:
  RaplMeter() {
    machine.domain("intel-rapl:0", "package-0", 5'000'000, 1'000'000'000);
    machine.domain("intel-rapl:1", "package-1", 999'000'000, 1'000'000'000);
    meter = make_rapl_meter(find_rapl(machine.folder));
    meter->begin(0);
  }
  FakePowercap machine;
  std::unique_ptr<EnergyMeter> meter;
};

TEST_F(RaplMeter, AddsPackagesAndRounds) {
  machine.count("intel-rapl:0", 15'000'000);
  machine.count("intel-rapl:1", 4'000'000);  // over 1000 J: 5 J
  meter->advance(0.01);
  EXPECT_FALSE(meter->drawn().obstacle) << *meter->drawn().obstacle;
  EXPECT_NEAR(meter->drawn().joules, 15, 1e-9);
}

TEST_F(RaplMeter, AResetIsAnObstacleWithThePackagesName) {
  // A counter whose range is far above what a package draws in the meantime.
  machine.domain("intel-rapl:1", "package-1", 999'000'000, 262'143'328'850);
  meter = make_rapl_meter(find_rapl(machine.folder));
  meter->begin(0);
  machine.count("intel-rapl:1", 1'000);
  meter->advance(0.01);
  EXPECT_THAT(meter->drawn().obstacle.value_or(""), HasSubstr("package-1: the counter was reset"));
}

TEST_F(RaplMeter, ADomainThatVanishesIsAnObstacle) {
  machine.count("intel-rapl:0", 6'000'000);
  meter->advance(0.01);
  machine.remove("intel-rapl:1");
  meter->advance(0.02);
  EXPECT_THAT(meter->drawn().obstacle.value_or(""), HasSubstr("intel-rapl:1/energy_uj can no longer be read"));
}

TEST_F(RaplMeter, APackageWithoutARangeMayOnlyRise) {
  machine.remove("intel-rapl:1/max_energy_range_uj");
  meter = make_rapl_meter(find_rapl(machine.folder));
  meter->begin(0);
  machine.count("intel-rapl:1", 999'500'000);
  meter->advance(0.01);
  EXPECT_NEAR(meter->drawn().joules, 0.5, 1e-9);
  machine.count("intel-rapl:1", 0);
  meter->advance(0.02);
  EXPECT_THAT(meter->drawn().obstacle.value_or(""), HasSubstr("was reset"));
}

TEST(FindRaplHere, HasCountersOrAReason) {
  const RaplDomains domains = find_rapl();
  EXPECT_TRUE(domains.obstacle || !domains.packages.empty());
  if (domains.obstacle) {
    EXPECT_THAT(*domains.obstacle, HasSubstr("/sys/class/powercap"));
  }
}

}  // namespace
}  // namespace epochbench
