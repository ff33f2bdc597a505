// The parent's side of a case: starts a process for it, drives it to the end and returns the run.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "epochbench/gpu.h"
#include "src/case/case_spec.h"
#include "src/result/result.h"
#include "src/worker/case_process.h"
#include "src/worker/stopping_rule.h"

namespace epochbench {

class MachineMeters;

struct Progress {
  std::string phase;       // "compile", "warm up", "measure", "evaluate", "latency", "profile"
  std::int64_t steps = 0;  // timed so far
  std::optional<std::int64_t> steps_planned;
  double elapsed_seconds = 0, rate = 0;  // rate: samples/s of the timed steps, 0 before the first
  std::optional<double> step_seconds;    // of a block of steps that is not done yet
  std::optional<double> loss, relative_noise, eval_value;
};

struct DriverOptions {
  ProcessLimits process = {};
  StoppingLimits stopping = {};
  const MachineMeters* meters = nullptr;  // src/machine/meters.h; null: nothing is metered
  std::optional<Workload> workload = {};  // for a worker that is not epochbench (Conversation::prepare)
  std::string gpu = {};                   // name that the case's device must have; empty: unknown
};

Device planned_device(const CaseSpec& spec);  // as far as it is known before the case's process reports it

// Begins the message of a run that is ok, but whose file of --save or --trace is missing.
inline constexpr std::string_view kUnwritten = "not written: ";

// Starts the worker in this process group, or the launcher of a case with ranks. Fills in everything that the process measured;
// src/session/finished_run.h adds the rest. `interrupted` is polled; once true, the case is ended and the run's status is
// `interrupted`. A run that is interrupted or fails keeps the blocks of timed steps that it had completed.
Run run_case(const CaseSpec& spec, const WorkerCommand& worker, const std::function<void(const Progress&)>& progress,
             const std::function<bool()>& interrupted, const DriverOptions& options = {});

// Measures the CPU or a GPU in a separate process. Errors: std::runtime_error that says why there are no numbers.
MeasuredCpu measure_cpu_in_child(const WorkerCommand& worker, int threads);
MeasuredGpu measure_gpu_in_child(const WorkerCommand& worker, int index);

}  // namespace epochbench
