// What tests and the made-up management library (fake_nvml.cpp) share: its state, which tests set and read.
#pragma once

#include <mutex>

namespace epochbench::test {

inline constexpr int kNotSupported = 3, kNoPermission = 4, kNotFound = 6, kLost = 15;  // codes of NVML's nvmlReturn_t

struct FakeCard {
  const char* bus_id = "";
  const char* instance_uuid = "";                                          // "MIG-…", of its one instance where it is divided
  unsigned long long energy_millijoules = 0, energy_step_millijoules = 0;  // the latter is added at each reading
  unsigned power_milliwatts = 0, power_limit_milliwatts = 700'000, default_power_limit_milliwatts = 700'000,
           utilization_percent = 0, clock_megahertz = 0, temperature_celsius = 0;
  unsigned long long clock_reasons = 0, memory_used_bytes = 0;
  bool divided = false;
  int utilization_reads = 0;
  // What each query answers with, 0 for success.
  int energy_code = 0, power_code = 0, power_limit_code = 0, utilization_code = 0, clock_code = 0, temperature_code = 0,
      reasons_code = 0, memory_code = 0;
};

struct FakeNvml {
  int init_code = 0;
  int started = 0, stopped = 0;
  int card_count = 0;
  FakeCard cards[2];
};

// The library's functions hold the mutex, and so does a test while a meter reads in another thread.
struct SharedFakeNvml {
  std::mutex mutex;
  FakeNvml nvml;
};
using FakeNvmlState = SharedFakeNvml*();  // fake_nvml_state

}  // namespace epochbench::test
