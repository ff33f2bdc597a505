#include "src/session/measuring.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <set>
#include <utility>

#include "epochbench/gpu.h"
#include "src/analysis/profile.h"
#include "src/base/errors.h"
#include "src/base/numbers.h"
#include "src/base/signals.h"
#include "src/case/case_option.h"
#include "src/machine/environment.h"
#include "src/report/text/summary.h"
#include "src/session/budget.h"
#include "src/session/machine.h"
#include "src/session/progress.h"
#include "src/session/result_keeper.h"
#include "src/session/resume.h"

namespace epochbench {
namespace {

std::string default_out() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &local);
  std::string name = std::string("epochbench-") + stamp;
  // Two runs that begin within one second keep a file each.
  for (int other = 2; std::filesystem::exists(name + ".json"); ++other)
    name = std::string("epochbench-") + stamp + "-" + std::to_string(other);
  return name + ".json";
}

// Of what is metered, before anything else works: the CPU, and the GPUs that cases run on.
void measure_idle_of(MachineMeters& meters, const std::vector<PlannedCase>& cases) {
  constexpr double kIdleSeconds = 3;
  std::set<int> gpus;
  bool metered = false;
  for (const PlannedCase& planned : cases) {
    if (planned.obstacle || !planned.spec.meters) continue;
    metered = true;
    if (planned.spec.device.kind == DeviceKind::cuda) gpus.insert(planned.spec.device.index);
  }
  if (metered) meters.measure_idle({gpus.begin(), gpus.end()}, kIdleSeconds, interrupted);
}

// Measured once for all cases; taken over from a resumed result of this machine.
void fill_peaks(CpuInfo& cpu, const CpuInfo& earlier) {
  const auto known = earlier.peak_flops_per_second.find(name(Precision::fp32));
  if (known != earlier.peak_flops_per_second.end() && known->second) {
    cpu.peak_flops_per_second = earlier.peak_flops_per_second;
    cpu.memory_bandwidth_bytes_per_second = earlier.memory_bandwidth_bytes_per_second;
    cpu.peak_instruction = earlier.peak_instruction;
    cpu.peak_threads = earlier.peak_threads;
    return;
  }
  measure_peaks_of(cpu);
}

// Of the GPUs that cases run on, likewise.
void fill_peaks(std::vector<GpuInfo>& gpus, const std::vector<GpuInfo>& earlier, const std::vector<PlannedCase>& cases) {
  std::set<int> used;
  for (const PlannedCase& planned : cases)
    if (!planned.obstacle && planned.spec.device.kind == DeviceKind::cuda) used.insert(planned.spec.device.index);
  for (int index : used) {
    const auto at = static_cast<std::size_t>(index);
    if (at < gpus.size() && at < earlier.size() && gpus[at].name == earlier[at].name &&
        earlier[at].memory_bandwidth_bytes_per_second) {
      gpus[at].peak_flops_per_second = earlier[at].peak_flops_per_second;
      gpus[at].memory_bandwidth_bytes_per_second = earlier[at].memory_bandwidth_bytes_per_second;
      gpus[at].host_to_device_bytes_per_second = earlier[at].host_to_device_bytes_per_second;
    } else if (at < gpus.size()) {
      measure_peaks_of(gpus, index);
    }
  }
}

// What the device of a run can do at most in its precision.
DeviceLimits limits_of(const Context& context, const PlannedCase& planned) {
  const auto limits = [&](const auto& device) {
    const auto peak = device.peak_flops_per_second.find(name(planned.spec.precision));
    return DeviceLimits{peak != device.peak_flops_per_second.end() ? peak->second : std::nullopt,
                        device.memory_bandwidth_bytes_per_second};
  };
  if (planned.spec.device.kind != DeviceKind::cuda) return limits(context.cpu);
  const auto index = static_cast<std::size_t>(planned.spec.device.index);
  return index < context.gpus.size() ? limits(context.gpus[index]) : DeviceLimits{};
}

Run skipped(const PlannedCase& planned, const std::string& reason) {
  Run run;
  run.status = RunStatus::skipped;
  run.message = reason;
  run.device = planned_device(planned.spec);
  return run;
}

// A case that the end of the budget ends has measured something, but not what it was asked for.
Run measured(const PlannedCase& planned, const WorkerCommand& worker, const Budget& budget, const MachineMeters& meters,
             ProgressDisplay& display) {
  if (planned.obstacle) return skipped(planned, planned.obstacle->reason);
  if (budget.over()) return skipped(planned, budget.reason(false));
  DriverOptions options{.meters = &meters};
  if (planned.spec.framework != Framework::epochbench) options.workload = planned.workload;
  Run run = run_case(
      planned.spec, worker, [&](const Progress& progress) { display.update(progress); },
      [&] { return interrupted() || budget.over(); }, options);
  if (run.status == RunStatus::interrupted && !interrupted()) return skipped(planned, budget.reason(true));
  return run;
}

void derive(Run& run, const PlannedCase& planned, const Context& context, const Prices& prices) {
  if (run.status != RunStatus::ok || !run.timing || !run.throughput) return;
  const DeviceLimits limits = limits_of(context, planned);
  add_rates(run, planned, limits.flops_per_second);
  if (run.profile) complete_profile(*run.profile, limits);
  if (!run.energy) run.energy.emplace();
  run.cost = prices.cost(planned.spec.device, *run.timing);
}

// One line a reason, however many cases it stops.
void tell_obstacles(const std::vector<PlannedCase>& cases) {
  std::set<std::string> told;
  for (const PlannedCase& planned : cases)
    if (planned.obstacle && told.insert(planned.obstacle->reason).second) print_error("skipped: " + planned.obstacle->reason);
}

}  // namespace

void identify(Run& run, const PlannedCase& planned) {
  run.name = planned.spec.name;
  run.repetition = planned.spec.repetition;
  run.workload = planned.workload;
  run.precision = name(planned.spec.precision);
  run.settings = planned.settings;
}

void add_rates(Run& run, const PlannedCase& planned, std::optional<double> peak) {
  if (run.status != RunStatus::ok || !run.throughput) return;
  if (!run.efficiency) run.efficiency.emplace();
  if (run.workload.tokens_per_sample)
    run.throughput->tokens_per_second =
        static_cast<double>(*run.workload.tokens_per_sample) * run.throughput->samples_per_second;
  run.efficiency->flops_per_second = planned.flops_per_sample * run.throughput->samples_per_second;
  if (peak) run.efficiency->peak_fraction = run.efficiency->flops_per_second / *peak;
}

Measurement measure(const MeasuringRequest& request) {
  const Budget budget(request.budget_seconds);
  Resumed resumed = resume(request.resume, request.cases, request.anonymous);
  Result& result = resumed.result;
  const std::vector<PlannedCase>& remaining = resumed.remaining;
  const std::string out = !request.out.empty() ? request.out : !request.resume.empty() ? request.resume : default_out();
  ResultKeeper keeper(out, request.anonymous);
  const auto conclude = [&] {
    if (request.conclude) request.conclude(result);
  };

  catch_interrupts();
  tell_obstacles(remaining);
  ProgressDisplay display(remaining.size(), request.quiet);
  const Context earlier = std::exchange(result.context, describe_context(request.command_line));
  result.context.gpus = list_gpus();
  MachineMeters meters(meter_sources(), result.context.gpus);
  display.note("measuring the idle draw");
  measure_idle_of(meters, remaining);
  display.note("measuring this machine's peaks");
  fill_peaks(result.context.cpu, earlier.cpu);
  fill_peaks(result.context.gpus, earlier.gpus, remaining);

  const WorkerCommand worker = request.worker.empty() ? WorkerCommand(own_binary()) : WorkerCommand(request.worker);
  for (const PlannedCase& planned : remaining) {
    if (interrupted()) break;
    display.begin(planned.spec.name);
    Run run = measured(planned, worker, budget, meters, display);
    identify(run, planned);
    derive(run, planned, result.context, request.prices);
    display.end(run);
    if (run.status != RunStatus::ok && run.status != RunStatus::skipped && request.quiet) print_error(one_line(run));
    put(result, std::move(run), planned, request.anonymous);
    conclude();
    keeper.save(result);
  }
  if (remaining.empty()) {
    conclude();
    keeper.save(result);
  }
  const bool written = keeper.finish(result);
  display.clear();
  return {std::move(result), keeper.path(), written};
}

int exit_code(const MeasuringRequest& request, const Measurement& measurement, const std::vector<RunStatus>& accepted) {
  if (interrupted()) return kExitInterrupted;
  if (!measurement.written) return kExitCallIsWrong;
  for (const PlannedCase& planned : request.cases)
    for (const Run& run : measurement.result.runs) {
      if (run.name != planned.spec.name || run.repetition != planned.spec.repetition) continue;
      if (run.status == RunStatus::ok || run.status == RunStatus::skipped) continue;
      if (std::find(accepted.begin(), accepted.end(), run.status) == accepted.end()) return kExitAnswerIsNo;
    }
  return kExitDone;
}

int parse_repetitions(const std::string& text, const std::string& where) try {
  return static_cast<int>(parse_integer(text, 1, kMaxRepetitions));
} catch (const CallError& error) {
  throw CallError(where + ": " + error.what());
}

}  // namespace epochbench
