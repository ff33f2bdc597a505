// What a case's process answers to its parent: blocks of steps, and evaluations.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace epochbench {

inline constexpr std::int64_t kBlockSteps = 4096;         // the most in one block
inline constexpr std::int64_t kQueuedBlockSteps = 65536;  // on an asynchronous device: a second of steps of 15 us

// What this process and the machine have used so far; only differences of two readings are meaningful.
struct Usage {
  std::int64_t page_faults = 0;            // minor and major
  double own_cpu_seconds = 0;              // of all threads
  std::optional<double> busy_cpu_seconds;  // of the whole machine; unset if it does not say
};
// Over less wall time, the kernel's count of CPU time (in units of 10 ms) says nothing about other processes.
inline constexpr double kTellingSeconds = 0.2;

struct StepBlock {
  // Includes the wait for data. On an asynchronous device: by its own clock, from the end of one step to the end of the next;
  // the first step's wait for data by the host's.
  std::vector<double> step_seconds;
  std::vector<double> loss;  // by step
  // Steps, from 0, during which this process was stopped by a signal and continued: their seconds include the stop. On an
  // asynchronous device, the longest step of the block.
  std::vector<std::int64_t> stopped;
  std::int64_t samples = 0;
  double data_wait_seconds = 0;  // part of step_seconds: waits for a batch while the device had nothing to do
  double idle_seconds = 0;       // part of step_seconds: an asynchronous device ran no step, for whatever reason
  // Wall time minus the steps. On an asynchronous device, the difference between its clock and the host's, which may be
  // negative.
  double harness_seconds = 0;
  double wall_seconds = 0;  // of the whole block, except the part of the first batch's transfer that a step would hide
  Usage usage;              // of the whole block
};

struct Evaluation {
  std::int64_t samples = 0;
  double accuracy = 0, loss = 0;  // means over the labels of the test split
};

}  // namespace epochbench
