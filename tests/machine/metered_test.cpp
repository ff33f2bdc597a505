// From joules in a window to the energy of a result.
#include <gmock/gmock.h>

#include "src/machine/energy.h"

namespace epochbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;

Run run_on(BackendKind backend, std::optional<int> threads = std::nullopt) {
  Run run;
  run.device = {backend, "a device", threads, std::nullopt};
  run.timing = Timing{};
  run.timing->epoch_seconds = 3600;
  run.interference = Interference{0.02};
  return run;
}

MeteredSteps ten_seconds_of_cpu() {
  MeteredSteps metered;
  metered.window_seconds = 10;
  metered.cpu = {{500, std::nullopt}, 20};
  return metered;
}

MeteredSteps ten_seconds_of_both() {
  MeteredSteps metered = ten_seconds_of_cpu();
  metered.gpu = MeteredPart{{3000, std::nullopt}, 70};
  return metered;
}

TEST(EnergyOf, ACpuRunIsThePackages) {
  const Energy energy = energy_of(ten_seconds_of_cpu(), run_on(BackendKind::cpu, 4), 4);
  EXPECT_EQ(energy.source, EnergySource::rapl);
  EXPECT_THAT(energy.average_watts, Optional(50));
  EXPECT_THAT(energy.joules_per_epoch, Optional(180000)) << "50 W for an hour";
  EXPECT_THAT(energy.cpu_joules_per_epoch, Optional(180000));
  EXPECT_THAT(energy.idle_watts, Optional(20));
  EXPECT_THAT(energy.window_seconds, Optional(10));
  EXPECT_FALSE(energy.gpu_joules_per_epoch || energy.gpu_average_watts || energy.reason);
  EXPECT_THAT(energy.remarks, IsEmpty());
}

TEST(EnergyOf, AGpuRunIsTheCardAndItsHost) {
  const Energy energy = energy_of(ten_seconds_of_both(), run_on(BackendKind::cuda), 4);
  EXPECT_EQ(energy.source, EnergySource::rapl_and_nvml);
  EXPECT_THAT(energy.average_watts, Optional(350));
  EXPECT_THAT(energy.joules_per_epoch, Optional(350 * 3600.0));
  EXPECT_THAT(energy.cpu_joules_per_epoch, Optional(50 * 3600.0));
  EXPECT_THAT(energy.gpu_joules_per_epoch, Optional(300 * 3600.0));
  EXPECT_THAT(energy.idle_watts, Optional(90));
  EXPECT_THAT(energy.remarks, IsEmpty()) << "threads do not matter for a run on a GPU";
}

TEST(EnergyOf, ASumWithAnUnknownPartIsNotKnown) {
  MeteredSteps metered = ten_seconds_of_both();
  metered.cpu = {{0, "no counter"}, std::nullopt};
  const Energy energy = energy_of(metered, run_on(BackendKind::cuda), 4);
  EXPECT_EQ(energy.source, EnergySource::nvml);
  EXPECT_FALSE(energy.joules_per_epoch || energy.average_watts || energy.idle_watts || energy.cpu_average_watts);
  EXPECT_THAT(energy.gpu_average_watts, Optional(300));
  EXPECT_THAT(energy.gpu_idle_watts, Optional(70));
  EXPECT_EQ(energy.reason, "CPU: no counter");
}

TEST(EnergyOf, NoMeterIsUnavailableWithEveryReason) {
  MeteredSteps metered;
  metered.window_seconds = 10;
  metered.cpu.drawn.obstacle = "no counter";
  metered.gpu = MeteredPart{{0, "no card"}, std::nullopt};
  const Energy energy = energy_of(metered, run_on(BackendKind::cuda), 4);
  EXPECT_EQ(energy.source, EnergySource::unavailable);
  EXPECT_EQ(energy.reason, "CPU: no counter; GPU: no card");
  EXPECT_FALSE(energy.joules_per_epoch || energy.average_watts || energy.gpu_average_watts);
}

TEST(EnergyOf, AMeterThatStandsStillIsNoZero) {
  MeteredSteps metered = ten_seconds_of_cpu();
  metered.cpu.drawn.joules = 0;
  const Energy energy = energy_of(metered, run_on(BackendKind::cpu, 4), 4);
  EXPECT_EQ(energy.source, EnergySource::unavailable);
  EXPECT_FALSE(energy.joules_per_epoch);
  EXPECT_THAT(energy.reason.value_or(""), HasSubstr("stood still for 10 s"));
}

TEST(EnergyOf, AWindowShorterThanTheMeterResolvesIsRefused) {
  MeteredSteps metered = ten_seconds_of_both();
  metered.window_seconds = 0.3;
  const Energy energy = energy_of(metered, run_on(BackendKind::cuda), 4);
  EXPECT_EQ(energy.source, EnergySource::rapl);
  EXPECT_THAT(energy.reason.value_or(""), HasSubstr("GPU: the timed steps lasted 0.3 s"));
  metered.window_seconds = 0.05;
  EXPECT_EQ(energy_of(metered, run_on(BackendKind::cuda), 4).source, EnergySource::unavailable);
  metered.window_seconds = 0;
  EXPECT_EQ(energy_of(metered, run_on(BackendKind::cuda), 4).source, EnergySource::unavailable);
}

TEST(EnergyOf, RemarksOnWhatElseIsInIt) {
  epochbench::Run run = run_on(BackendKind::cpu, 1);
  run.interference->foreign_cpu_cores = 0.5;
  EXPECT_THAT(energy_of(ten_seconds_of_cpu(), run, 4).remarks,
              ElementsAre(HasSubstr("all its 4 cores, and this run used 1"), HasSubstr("which took 0.5 cores")));
  run.ranks = Ranks{3, {}, {}};
  EXPECT_THAT(energy_of(ten_seconds_of_cpu(), run, 4).remarks[0], HasSubstr("this run used 3"));
  MeteredSteps metered = ten_seconds_of_both();
  metered.window_seconds = 1;
  metered.remarks = {"first"};
  EXPECT_THAT(energy_of(metered, run_on(BackendKind::cuda), 4).remarks, ElementsAre("first", HasSubstr("lasted 1 s")));
  run.interference->foreign_cpu_cores.reset();
  EXPECT_THAT(energy_of(ten_seconds_of_cpu(), run, std::nullopt).remarks, IsEmpty()) << "of what is not known, nothing";
}

}  // namespace
}  // namespace epochbench
