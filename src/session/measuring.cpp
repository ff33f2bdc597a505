#include "src/session/measuring.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <set>
#include <utility>

#include "epochbench/gpu.h"
#include "src/base/errors.h"
#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/machine/environment.h"
#include "src/report/text/result_text.h"
#include "src/result/anonymous.h"
#include "src/session/complete_result.h"
#include "src/session/finished_run.h"
#include "src/session/machine.h"
#include "src/session/progress.h"
#include "src/session/result_keeper.h"
#include "src/session/resume.h"
#include "src/worker/launcher.h"

namespace epochbench {
namespace {

std::optional<ResultFile> result_file(const MeasuringRequest& request) {
  if (request.out == kStandardStream) return std::nullopt;
  std::error_code unknown;  // then they are not the same
  const bool resumed =
      !request.resume.empty() && (request.out.empty() || std::filesystem::equivalent(request.out, request.resume, unknown));
  if (resumed) return ResultFile(request.resume);
  const std::string suffix = std::filesystem::path(request.out).extension().string();
  if (!suffix.empty() && suffix != ".json")
    throw CallError("--out: a result is JSON, and '" + request.out + "' ends with " + suffix +
                    "; name FILE.json, and add --also for FILE.csv or FILE.md");
  if (!request.out.empty()) return ResultFile(request.out, request.overwrite ? Existing::replaced : Existing::refused);
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &local);
  return ResultFile::with_free_name("epochbench-" + std::string(stamp), ".json");
}

std::set<int> gpus_of(const std::vector<PlannedCase>& cases) {
  std::set<int> gpus;
  for (const PlannedCase& planned : cases)
    for (int rank = 0; rank < planned.spec.ranks; ++rank)  // one GPU each
      if (!planned.obstacle && planned.spec.device.kind == DeviceKind::cuda) gpus.insert(planned.spec.device.index + rank);
  return gpus;
}

// Measures idle power before anything else runs: of the CPU, and of the GPUs that cases run on.
void measure_idle_of(MachineMeters& meters, std::vector<PlannedCase> cases, ProgressDisplay& display) {
  constexpr double kIdleSeconds = 3;
  std::erase_if(cases, [](const PlannedCase& planned) { return planned.obstacle || !planned.spec.meters; });
  const std::set<int> gpus = gpus_of(cases);
  const bool metered =
      meters.cpu().energy || std::ranges::any_of(gpus, [&](int index) { return meters.gpu(index).energy != nullptr; });
  if (cases.empty() || !metered) return;
  display.note("measuring the idle draw");
  meters.measure_idle({gpus.begin(), gpus.end()}, kIdleSeconds, interrupted);
}

// Measured once for all cases; taken over from a resumed result of this machine.
void fill_peaks(CpuInfo& cpu, const CpuInfo& earlier) {
  const bool known = peak_in(earlier.peak_flops_per_second, Precision::fp32).has_value();
  static_cast<MeasuredCpu&>(cpu) = known ? part<MeasuredCpu>(earlier) : measured_cpu();
  if (known) cpu.peak_processes = earlier.peak_processes;
}

// Likewise for the GPUs that cases run on.
void fill_peaks(std::vector<GpuInfo>& gpus, const std::vector<PlannedCase>& cases) {
  for (const int index : gpus_of(cases)) {
    const auto at = static_cast<std::size_t>(index);
    if (at < gpus.size() && !gpus[at].memory_bandwidth_bytes_per_second) measure_peaks_of(gpus, index);
  }
}

// The GPU's name in the result; empty if it has none, and for a worker of another framework, which has its own names.
std::string gpu_of(const PlannedCase& planned, const std::vector<GpuInfo>& gpus) {
  const CaseSpec& spec = planned.spec;
  const auto index = static_cast<std::size_t>(spec.device.index);
  const bool known = spec.device.kind == DeviceKind::cuda && spec.framework == Framework::epochbench && index < gpus.size();
  return known ? gpus[index].name : "";
}

constexpr double kPeerHungSeconds = 1800;  // torch.compile works in other processes

// A case that the end of the budget stops has measured something, but not what was asked for.
Run measured(const PlannedCase& planned, const WorkerCommand& worker, const Budget& budget, const MachineMeters& meters,
             const std::vector<GpuInfo>& gpus, ProgressDisplay& display, TimeLeft& left) {
  if (planned.obstacle) return skipped_run(planned, planned.obstacle->reason);
  if (budget.over()) return skipped_run(planned, budget.reason(false));
  DriverOptions options{.meters = &meters, .gpu = gpu_of(planned, gpus)};
  if (planned.spec.framework != Framework::epochbench) {
    options.workload = planned.workload;
    options.process.hung_seconds = kPeerHungSeconds;
  }
  Run run = run_case(
      planned.spec, worker,
      [&](const Progress& progress) {
        left.update(progress);
        display.update(progress,
                       "about " + about_seconds(left.of_case()) + " left (total " + about_seconds(left.of_all()) + ")");
      },
      [&] { return interrupted() || budget.over(); }, options);
  if (run.status == RunStatus::interrupted && !interrupted()) return skipped_run(planned, budget.reason(true));
  return run;
}

bool lacks_files(const Run& run) { return run.status == RunStatus::ok && run.message && run.message->starts_with(kUnwritten); }

std::size_t count_to_run(const std::vector<PlannedCase>& cases) {
  const auto runs = std::count_if(cases.begin(), cases.end(), [](const PlannedCase& planned) { return !planned.obstacle; });
  return static_cast<std::size_t>(runs);
}

}  // namespace

TimeLeft expected_times(const std::vector<PlannedCase>& cases, std::optional<double> budget_seconds, const Context* context) {
  std::vector<ExpectedCase> expected;
  const int threads = default_threads();
  for (const PlannedCase& planned : cases)
    expected.push_back(context ? expected_case(planned, limits_of(*context, planned).flops_per_second, threads,
                                               context->cpu.peak_foreign_cpu_cores)
                               : expected_case(planned, std::nullopt, threads));
  return TimeLeft(std::move(expected), budget_seconds);
}

// Before anything is measured: such a CPU run is slower than it could be.
void warn_of_missing_kernels(const Context& context, const std::vector<PlannedCase>& cases) {
  const bool on_cpu = std::ranges::any_of(
      cases, [](const PlannedCase& planned) { return !planned.obstacle && planned.spec.device.kind == DeviceKind::cpu; });
  const std::string remark = kernels_remark(context);
  if (on_cpu && !remark.empty()) print_error("warning: " + remark);
}

std::string expected_text(const std::vector<PlannedCase>& cases, const TimeLeft& left) {
  return counted(count_to_run(cases), "run", "runs") + ", expected to take about " + about_seconds(left.of_all());
}

Prices checked_prices(const MeasuringRequest& request) {
  Prices prices(request.prices);
  located("--price", [&] {
    for (const PlannedCase& planned : request.cases) prices.hourly(planned.spec.device, planned.spec.ranks);
  });
  std::vector<DeviceId> devices;
  for (const PlannedCase& planned : request.cases) devices.push_back(planned.spec.device);
  for (const std::string& device : prices.without_case(devices))
    print_error("note: --price " + device + "=... is ignored: no case runs on " + device);
  return prices;
}

Measurement measure(const MeasuringRequest& request) {
  refuse_several_copies();
  const Budget budget(request.budget_seconds);
  const Prices prices = checked_prices(request);
  const AlsoFiles also(request.also, request.overwrite || !request.resume.empty() ? Existing::replaced : Existing::refused);
  std::optional<ResultFile> file =
      result_file(request);  // before a file is resumed, since another process may still be writing it
  Resumed resumed = resume(request.resume, request.cases, request.anonymous);
  Result& result = resumed.result;
  complete(result);
  const std::vector<PlannedCase>& remaining = resumed.remaining;
  ResultKeeper keeper(std::move(file), request.anonymous);
  const auto conclude = [&] {
    if (request.conclude) request.conclude(result);
  };

  std::vector<GpuInfo> gpus = with_known_gpus(list_gpus(), result.context.gpus, request.resume);
  catch_interrupts();
  print_obstacles(remaining);
  std::set<std::string> remarks;
  for (const PlannedCase& planned : remaining) remarks.insert(launch_remark(planned.spec));
  for (const std::string& remark : remarks)
    if (!remark.empty()) print_error(remark);
  ProgressDisplay display(count_to_run(remaining), request.quiet);
  const auto finished = [&]() -> Measurement {
    const bool written = keeper.finish(result);
    const bool also_written = also.write(request.anonymous ? anonymous(result) : result);
    display.clear();
    return {std::move(result), keeper.path(), written, also_written};
  };
  if (!request.resume.empty() && remaining.empty()) {
    display.line("nothing is left to run");
    conclude();
    keeper.save(result);
    return finished();
  }
  const Context earlier = std::exchange(result.context, describe_context(request.command_line));
  result.context.earlier_calls = calls_of(earlier);
  result.context.suite = request.suite;
  result.context.gpus = std::move(gpus);
  warn_of_missing_kernels(result.context, remaining);
  MachineMeters meters(meter_sources(), result.context.gpus);
  measure_idle_of(meters, remaining, display);
  display.note("measuring this machine's peaks");
  const double peaks_begin = steady_seconds();
  fill_peaks(result.context.cpu, earlier.cpu);
  SpreadPeaks peaks(result.context.cpu, count_to_run(remaining), steady_seconds() - peaks_begin);
  fill_peaks(result.context.gpus, remaining);

  const WorkerCommand own = WorkerCommand::own();
  const std::optional<WorkerCommand> peer =
      request.worker.empty() ? std::nullopt : std::optional<WorkerCommand>(WorkerCommand(request.worker));
  TimeLeft left = expected_times(remaining, request.budget_seconds, &result.context);
  if (count_to_run(remaining) > 0) display.line(expected_text(remaining, left));
  std::size_t done = 0;
  for (std::size_t i = 0; i < remaining.size() && !interrupted(); ++i) {
    const PlannedCase& planned = remaining[i];
    if (!planned.obstacle) display.begin(planned.spec.name);  // print_obstacles() has shown the others
    left.begin(i);
    const WorkerCommand& worker = peer && planned.spec.framework != Framework::epochbench ? *peer : own;
    Run run = finished_run(measured(planned, worker, budget, meters, result.context.gpus, display, left), planned,
                           limits_of(result.context, planned), &prices);
    left.end(run.status == RunStatus::ok);
    if (!planned.obstacle) display.end(run);
    if (!planned.obstacle && !interrupted()) peaks.after_run(++done);
    if (run.status != RunStatus::ok && run.status != RunStatus::skipped && request.quiet) print_error(one_line(run));
    if (lacks_files(run)) print_error(run.name + ": " + *run.message);
    replace_run(result, std::move(run), planned, request.anonymous);
    complete(result);
    conclude();
    keeper.save(result);
  }
  return finished();
}

int exit_code(const MeasuringRequest& request, const Measurement& measurement, const std::vector<RunStatus>& accepted) {
  if (interrupted()) return kExitInterrupted;
  const int lacking = request.allow_skipped ? kExitDone : exit_code_for_skipped(request.cases, request.call);
  if (!measurement.written || !measurement.also_written || lacking == kExitCallIsWrong) return kExitCallIsWrong;
  for (const PlannedCase& planned : request.cases)
    for (const Run& run : measurement.result.runs) {
      if (run.name != planned.spec.name || run.repetition != planned.spec.repetition) continue;
      if (lacks_files(run)) return kExitAnswerIsNo;
      if (run.status == RunStatus::ok || run.status == RunStatus::skipped) continue;
      if (!contains(accepted, run.status)) return kExitAnswerIsNo;
    }
  return lacking;
}

}  // namespace epochbench
