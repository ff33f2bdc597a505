// A made-up management library of NVIDIA's, to be loaded by name. With FAKE_NVML_OLD it is one of before Volta: no energy
// counter, the older name of the clock's reasons, no words for errors. With FAKE_NVML_EMPTY it has nothing but its state.
#include "tests/support/fake_nvml.h"

#include <cstring>
#include <mutex>
#include <utility>

using epochbench::test::FakeCard;
using epochbench::test::SharedFakeNvml;

namespace {

epochbench::test::FakeNvml one_card() {  // where nobody sets the state, as for bench/meter_cost.cpp
  epochbench::test::FakeNvml nvml;
  nvml.card_count = 1;
  nvml.cards[0].bus_id = "0000:00:00.0";
  return nvml;
}
SharedFakeNvml state{{}, one_card()};

// What `query` says of a card: the code and the value.
template <class Value, class Query>
int answer(FakeCard* card, Value* out, const Query& query) {
  const std::lock_guard lock(state.mutex);
  const auto [code, value] = query(*card);
  if (code == 0) *out = value;
  return code;
}

}  // namespace

extern "C" {

SharedFakeNvml* fake_nvml_state() { return &state; }

#ifndef FAKE_NVML_EMPTY

int nvmlInit_v2() {
  const std::lock_guard lock(state.mutex);
  state.nvml.started += state.nvml.init_code == 0;
  return state.nvml.init_code;
}
int nvmlShutdown() {
  const std::lock_guard lock(state.mutex);
  ++state.nvml.stopped;
  return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** device) {
  const std::lock_guard lock(state.mutex);
  for (int i = 0; i < state.nvml.card_count; ++i)
    if (std::strcmp(state.nvml.cards[i].bus_id, bus_id) == 0) {
      *device = &state.nvml.cards[i];
      return 0;
    }
  return epochbench::test::kNotFound;
}

int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  const std::lock_guard lock(state.mutex);
  for (int i = 0; i < state.nvml.card_count; ++i)
    if (*uuid && std::strcmp(state.nvml.cards[i].instance_uuid, uuid) == 0) {
      *device = &state.nvml.cards[i];
      return 0;
    }
  return epochbench::test::kNotFound;
}

int nvmlSystemGetDriverVersion(char* text, unsigned length) {
  std::strncpy(text, "580.65.06", length);
  return 0;
}

int nvmlDeviceGetPowerUsage(FakeCard* card, unsigned* milliwatts) {
  return answer(card, milliwatts, [](FakeCard& c) { return std::pair(c.power_code, c.power_milliwatts); });
}

int nvmlDeviceGetEnforcedPowerLimit(FakeCard* card, unsigned* milliwatts) {
  return answer(card, milliwatts, [](FakeCard& c) { return std::pair(c.power_limit_code, c.power_limit_milliwatts); });
}
int nvmlDeviceGetPowerManagementDefaultLimit(FakeCard* card, unsigned* milliwatts) {
  return answer(card, milliwatts, [](FakeCard& c) { return std::pair(c.power_limit_code, c.default_power_limit_milliwatts); });
}

struct FakeUtilization {
  unsigned gpu, memory;
};
int nvmlDeviceGetUtilizationRates(FakeCard* card, FakeUtilization* percent) {
  return answer(card, percent, [](FakeCard& c) {
    ++c.utilization_reads;
    return std::pair(c.utilization_code, FakeUtilization{c.utilization_percent, 7});
  });
}

int nvmlDeviceGetClockInfo(FakeCard* card, int which, unsigned* megahertz) {
  return answer(card, megahertz, [&](FakeCard& c) { return std::pair(c.clock_code, which == 1 ? c.clock_megahertz : 1u); });
}

int nvmlDeviceGetTemperature(FakeCard* card, int sensor, unsigned* celsius) {
  return answer(card, celsius,
                [&](FakeCard& c) { return std::pair(c.temperature_code, sensor == 0 ? c.temperature_celsius : 1u); });
}

struct FakeMemory {
  unsigned long long total, free, used;
};
int nvmlDeviceGetMemoryInfo(FakeCard* card, FakeMemory* memory) {
  return answer(card, memory, [](FakeCard& c) { return std::pair(c.memory_code, FakeMemory{1, 2, c.memory_used_bytes}); });
}

#ifdef FAKE_NVML_OLD

int nvmlDeviceGetCurrentClocksThrottleReasons(FakeCard* card, unsigned long long* reasons) {
  return answer(card, reasons, [](FakeCard& c) { return std::pair(c.reasons_code, c.clock_reasons); });
}

#else

const char* nvmlErrorString(int code) {
  switch (code) {
    case epochbench::test::kNotSupported:
      return "Not Supported";
    case epochbench::test::kNoPermission:
      return "Insufficient Permissions";
    case epochbench::test::kNotFound:
      return "Not Found";
    case epochbench::test::kLost:
      return "GPU is lost";
    default:
      return "Unknown Error";
  }
}

int nvmlDeviceGetTotalEnergyConsumption(FakeCard* card, unsigned long long* millijoules) {
  return answer(card, millijoules, [](FakeCard& c) {
    c.energy_millijoules += c.energy_step_millijoules;
    return std::pair(c.energy_code, c.energy_millijoules);
  });
}

int nvmlDeviceGetCurrentClocksEventReasons(FakeCard* card, unsigned long long* reasons) {
  return answer(card, reasons, [](FakeCard& c) { return std::pair(c.reasons_code, c.clock_reasons); });
}

int nvmlDeviceGetMigMode(FakeCard* card, unsigned* now, unsigned* pending) {
  *pending = 0;
  return answer(card, now, [](FakeCard& c) { return std::pair(0, c.divided ? 1u : 0u); });
}

#endif
#endif

}  // extern "C"
