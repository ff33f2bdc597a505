// The meters of a machine and of one run, over a made-up powercap tree and a made-up management library.
#include "src/machine/metering.h"

#include <chrono>
#include <thread>

#include <gmock/gmock.h>

#include "src/base/clock.h"
#include "src/worker/case_driver.h"
#include "tests/support/fake_nvml_handle.h"
#include "tests/support/fake_powercap.h"

namespace epochbench {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;
using testing::Pair;

constexpr const char* kBusId = "0000:65:00.0";

std::vector<GpuInfo> gpus_with(const std::vector<std::string>& bus_ids) {
  std::vector<GpuInfo> gpus(bus_ids.size());
  for (std::size_t i = 0; i < gpus.size(); ++i) gpus[i].pci_bus_id = bus_ids[i];
  return gpus;
}

template <class Condition>
bool becomes_true(Condition condition) {
  for (const double end = steady_seconds() + 20; steady_seconds() < end;) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

void pass(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

class MetersTest : public testing::Test {
 protected:
  MetersTest() : nvml(FAKE_NVML) {
    powercap.domain("intel-rapl:0", "package-0", 1'000'000);
    nvml->card_count = 1;
    test::FakeCard& card = nvml->cards[0];
    card.bus_id = kBusId;
    card.energy_millijoules = 1'000'000;
    card.utilization_percent = 93;
    card.clock_megahertz = 1755;
    card.temperature_celsius = 61;
  }
  MachineMeters meters(const std::vector<std::string>& bus_ids = {kBusId}) const {
    return MachineMeters({powercap.folder, FAKE_NVML}, gpus_with(bus_ids));
  }
  static epochbench::Run timed_run(BackendKind backend, std::vector<double> step_seconds) {
    epochbench::Run run;
    run.device.backend = backend;
    run.timing = Timing{};
    run.timing->step_seconds = std::move(step_seconds);
    run.timing->epoch_seconds = 100;
    run.efficiency = Efficiency{};
    return run;
  }
  int reads() {
    return nvml.locked([](test::FakeNvml& all) { return all.cards[0].utilization_reads; });
  }
  test::FakePowercap powercap;
  test::FakeNvmlHandle nvml;
};

TEST_F(MetersTest, ListsEachWithWhatItLacks) {
  nvml->cards[0].energy_code = test::kNotSupported;
  nvml->cards[0].temperature_code = test::kNotSupported;
  const std::vector<MeterInfo> all = meters({kBusId, "0000:01:00.0", ""}).list();
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].name + ": " + all[0].measures, "rapl: CPU energy of package-0");
  EXPECT_FALSE(all[0].obstacle);
  EXPECT_THAT(all[0].missing, ElementsAre(HasSubstr("memory")));
  EXPECT_EQ(all[1].name, "nvml cuda:0");
  EXPECT_FALSE(all[1].obstacle);
  EXPECT_THAT(all[1].missing, ElementsAre("temperature: Not Supported", HasSubstr("power is integrated")));
  EXPECT_THAT(all[2].obstacle.value_or(""), HasSubstr("Not Found"));
  EXPECT_THAT(all[3].obstacle.value_or(""), HasSubstr("cuda:2 has no PCI bus id"));
}

TEST_F(MetersTest, ListsReasonsWhereThereIsNothing) {
  const std::vector<MeterInfo> all = MachineMeters({"/nowhere", "libnowhere.so.1"}, gpus_with({kBusId})).list();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_THAT(all[0].obstacle.value_or(""), HasSubstr("/nowhere has no energy counter"));
  EXPECT_THAT(all[1].obstacle.value_or(""), HasSubstr("libnowhere.so.1 cannot be loaded"));
}

TEST_F(MetersTest, IdleDrawIsThatOfEachPart) {
  nvml->cards[0].energy_step_millijoules = 500;
  MachineMeters all = meters();
  std::thread cpu([this] {
    pass(0.05);
    powercap.count("intel-rapl:0", 9'000'000);
  });
  all.measure_idle({0}, 0.3, nullptr);
  cpu.join();
  EXPECT_GT(all.idle_watts(0).value_or(0), 0);
  EXPECT_GT(all.idle_watts(-1).value_or(0), 0);
  EXPECT_LE(all.idle_watts(-1).value_or(0), 8 / 0.3) << "8 J in 0.3 s or longer";
  EXPECT_FALSE(all.idle_watts(1));
}

TEST_F(MetersTest, NoIdleDrawOfWhatStandsStillOrWasInterrupted) {
  MachineMeters all = meters();
  all.measure_idle({0}, 0.05, nullptr);
  EXPECT_FALSE(all.idle_watts(0) || all.idle_watts(-1));
  nvml->cards[0].energy_step_millijoules = 500;
  all.measure_idle({0}, 1e9, [] { return true; });
  EXPECT_FALSE(all.idle_watts(0));
}

TEST_F(MetersTest, AddsUpTheWindows) {
  const MachineMeters all = meters();
  Metering metering(all, {});
  std::int64_t counted = 1'000'000;
  for (int window = 0; window < 3; ++window) {
    metering.begin();
    powercap.count("intel-rapl:0", counted += 10'000'000);
    pass(0.06);
    metering.end(1);
    powercap.count("intel-rapl:0", counted += 70'000'000);  // between two windows
  }
  epochbench::Run run = timed_run(BackendKind::cpu, {0.06, 0.06, 0.06});
  metering.fill(run);
  EXPECT_EQ(run.energy->source, EnergySource::rapl) << run.energy->reason.value_or("");
  EXPECT_GE(run.energy->window_seconds.value_or(0), 0.18);
  EXPECT_NEAR(run.energy->average_watts.value_or(0) * run.energy->window_seconds.value_or(0), 30, 1e-6);
  EXPECT_NEAR(run.energy->joules_per_epoch.value_or(0), 100 * *run.energy->average_watts, 1e-6);
  EXPECT_THAT(run.energy->remarks, Contains(HasSubstr("EPOCHBENCH_POWERCAP")));
  EXPECT_THAT(run.energy->remarks, Contains(HasSubstr("leaves out that of its memory")));
  EXPECT_FALSE(*run.energy->cpu_includes_memory);
  EXPECT_FALSE(run.gpu);
}

TEST_F(MetersTest, ALongBlockIsReadWithinToo) {
  constexpr std::int64_t kRange = 65'532'610'987;
  std::int64_t counted = kRange - 100'000'000;
  powercap.domain("intel-rapl:0", "package-0", counted, kRange);
  const MachineMeters all = meters();
  Metering metering(all, cuda_device(0));
  metering.begin();
  for (int turn = 0; turn < 4; ++turn) {
    const int before = reads();
    powercap.count("intel-rapl:0", (counted += 50'000'000) % kRange);
    ASSERT_TRUE(becomes_true([&] { return reads() > before; })) << "nobody reads while the block runs";
  }
  metering.end(1);
  epochbench::Run run = timed_run(BackendKind::cuda, {1});
  metering.fill(run);
  ASSERT_TRUE(run.energy->cpu_average_watts) << run.energy->reason.value_or("");
  EXPECT_NEAR(*run.energy->cpu_average_watts * *run.energy->window_seconds, 200, 1e-6);
}

TEST_F(MetersTest, AGpuRunHasItsStateAndBothParts) {
  nvml->cards[0].clock_reasons = clock_reason::kHardwareThermal | clock_reason::kIdle;
  nvml->cards[0].memory_code = test::kNotSupported;
  const MachineMeters all = meters();
  Metering metering(all, cuda_device(0));
  metering.begin();
  powercap.count("intel-rapl:0", 21'000'000);
  nvml.locked([](test::FakeNvml& all) { all.cards[0].energy_millijoules += 60'000; });
  pass(0.6);
  metering.end(2);
  epochbench::Run run = timed_run(BackendKind::cuda, {0.3, 0.3});
  metering.fill(run);
  const Energy& energy = *run.energy;
  EXPECT_EQ(energy.source, EnergySource::rapl_and_nvml) << energy.reason.value_or("");
  EXPECT_NEAR(*energy.cpu_average_watts * *energy.window_seconds, 20, 1e-6);
  EXPECT_NEAR(*energy.gpu_average_watts * *energy.window_seconds, 60, 1e-6);
  ASSERT_TRUE(run.gpu);
  EXPECT_THAT(run.gpu->utilization, Optional(testing::DoubleEq(0.93)));
  EXPECT_EQ(run.efficiency->gpu_busy_fraction, run.gpu->utilization);
  EXPECT_THAT(run.gpu->throttled_steps, Optional(2));
  EXPECT_THAT(*run.gpu->throttled_step_ranges, ElementsAre(Pair(0, 1)));
  EXPECT_THAT(run.gpu->throttle_reasons, ElementsAre("hw_thermal_slowdown"));
  EXPECT_EQ(run.gpu->reason, "memory: Not Supported");
}

TEST_F(MetersTest, RanksHaveTheEnergyOfTheirGpusTogether) {
  nvml->cards[1] = nvml->cards[0];
  nvml->cards[1].bus_id = "0000:66:00.0";
  nvml->card_count = 2;
  for (const int gpus : {1, 2}) {
    const MachineMeters all = meters({kBusId, "0000:66:00.0"});
    Metering metering(all, cuda_device(0), gpus);
    metering.begin();
    nvml.locked([](test::FakeNvml& all) {
      all.cards[0].energy_millijoules += 60'000;
      all.cards[1].energy_millijoules += 30'000;
    });
    pass(0.6);
    metering.end(1);
    epochbench::Run run = timed_run(BackendKind::cuda, {0.3});
    metering.fill(run);
    ASSERT_TRUE(run.energy->gpu_average_watts) << run.energy->reason.value_or("");
    EXPECT_NEAR(*run.energy->gpu_average_watts * *run.energy->window_seconds, gpus == 1 ? 60 : 90, 1e-6);
  }
  const MachineMeters one = meters({kBusId, "0000:01:00.0"});
  Metering metering(one, cuda_device(0), 2);
  metering.begin();
  pass(0.6);
  metering.end(1);
  epochbench::Run run = timed_run(BackendKind::cuda, {0.1});
  metering.fill(run);
  EXPECT_FALSE(run.energy->gpu_average_watts);
  EXPECT_THAT(run.energy->reason.value_or(""), HasSubstr("GPU: the management library does not know the card"));
}

TEST_F(MetersTest, AGpuWithoutACardSaysWhy) {
  const MachineMeters all = meters({"0000:01:00.0"});
  Metering metering(all, cuda_device(0));
  metering.begin();
  metering.end(1);
  epochbench::Run run = timed_run(BackendKind::cuda, {0.1});
  metering.fill(run);
  EXPECT_THAT(run.gpu->reason.value_or(""), HasSubstr("Not Found"));
  EXPECT_FALSE(run.gpu->utilization || run.gpu->throttled_steps || run.efficiency->gpu_busy_fraction);
  EXPECT_THAT(run.energy->reason.value_or(""), HasSubstr("GPU: the management library does not know the card"));
}

TEST_F(MetersTest, AMachineWithoutMetersStartsNoThreadAndSaysWhy) {
  const MachineMeters all({"/nowhere", "libnowhere.so.1"}, {});
  Metering metering(all, {});
  metering.begin();
  metering.end(1);
  epochbench::Run run = timed_run(BackendKind::cpu, {0.1});
  metering.fill(run);
  EXPECT_EQ(run.energy->source, EnergySource::unavailable);
  EXPECT_THAT(run.energy->reason.value_or(""), HasSubstr("/nowhere has no energy counter"));
}

CaseSpec fake_case() {
  CaseSpec spec;
  spec.name = "on_gpu/cuda/fp32/b4";
  spec.model.name = "on_gpu";
  spec.device = cuda_device(0);
  spec.data = "none";
  spec.batch = 4;
  spec.stop.steps = 20;
  return spec;
}

TEST_F(MetersTest, AClockAtTheUsualPowerLimitIsNotThrottled) {
  nvml->cards[0].clock_reasons = clock_reason::kPowerCap;
  const MachineMeters all = meters();
  const epochbench::Run run = run_case(fake_case(), FAKE_CASE_BINARY, nullptr, nullptr, {.meters = &all});
  ASSERT_EQ(run.status, RunStatus::ok) << run.message.value_or("");
  EXPECT_THAT(run.gpu->throttled_steps, Optional(0));
  EXPECT_THAT(run.gpu->throttle_reasons, IsEmpty());
}

TEST_F(MetersTest, ACaseIsMeteredDuringItsTimedSteps) {
  nvml->cards[0].clock_reasons = clock_reason::kPowerCap;
  nvml->cards[0].power_limit_milliwatts = 500'000;
  const MachineMeters all = meters();
  const epochbench::Run run = run_case(fake_case(), FAKE_CASE_BINARY, nullptr, nullptr, {.meters = &all});
  ASSERT_EQ(run.status, RunStatus::ok) << run.message.value_or("");
  EXPECT_GT(run.energy->window_seconds.value_or(0), 0.02) << "20 steps of a millisecond or more";
  EXPECT_LT(run.energy->window_seconds.value_or(0), run.timing->wall_seconds);
  EXPECT_EQ(run.gpu->skipped_steps, 3);
  EXPECT_THAT(run.gpu->throttled_steps, Optional(20));
  EXPECT_THAT(run.gpu->utilization, Optional(testing::DoubleEq(0.93)));
  EXPECT_GT(run.efficiency->gpu_busy_fraction, 0.99) << "by the device's own events, which samples do not replace";
}

TEST_F(MetersTest, ACaseWithTheMetersOffReadsNothing) {
  const MachineMeters all = meters();
  const int before = reads();
  CaseSpec spec = fake_case();
  spec.meters = false;
  const epochbench::Run run = run_case(spec, FAKE_CASE_BINARY, nullptr, nullptr, {.meters = &all});
  ASSERT_EQ(run.status, RunStatus::ok) << run.message.value_or("");
  EXPECT_EQ(run.energy->reason, "the meters were off");
  EXPECT_FALSE(run.gpu->utilization);
  EXPECT_EQ(reads(), before);
}

TEST_F(MetersTest, ACaseThatFailsEndsItsMeters) {
  const MachineMeters all = meters();
  CaseSpec spec = fake_case();
  spec.model.name = "throw_step";
  EXPECT_EQ(run_case(spec, FAKE_CASE_BINARY, nullptr, nullptr, {.meters = &all}).status, RunStatus::failed);
}

}  // namespace
}  // namespace epochbench
