// epochbench run: the parent of all cases.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "epochbench/gpu.h"
#include "src/analysis/parity.h"
#include "src/analysis/profile.h"
#include "src/cli/commands.h"
#include "src/cli/errors.h"
#include "src/cli/machine.h"
#include "src/cli/numbers.h"
#include "src/cli/planned_case.h"
#include "src/cli/prices.h"
#include "src/cli/progress.h"
#include "src/cli/result_keeper.h"
#include "src/cli/signals.h"
#include "src/cli/suite.h"
#include "src/measure/case.h"
#include "src/measure/environment.h"
#include "src/report/anonymous.h"
#include "src/report/profile_text.h"
#include "src/report/result_json.h"
#include "src/report/summary.h"
#include "src/report/units.h"

namespace epochbench {
namespace {

constexpr const char* kDefaultSuite = "quick";
constexpr int kMaxRepetitions = 10'000;

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

struct Request {
  std::vector<CaseDraft> drafts;
  std::string repetitions = "1", repetitions_from = "--repetitions";  // and where they were asked for
};

// A suite's cases under the call's options. --device picks among the devices that a case names, and takes the place of none.
std::vector<CaseDraft> cases_of(const CaseBlock& block, const CaseBlock& call) {
  std::vector<CaseDraft> drafts = expand(merged(block, call));
  const auto asked = call.find("device");
  if (asked == call.end() || !block.contains("device")) return drafts;
  std::set<std::string> named;
  for (const CaseDraft& draft : expand({{"model", {{"mlp"}, "suite"}}, {"device", block.at("device")}}))
    named.insert(draft.device);
  std::erase_if(drafts, [&](const CaseDraft& draft) { return !named.contains(draft.device); });
  return drafts;
}

Request request_of(const RunOptions& options) {
  Request request;
  const bool names_models = options.cases.contains("model");
  if (!options.suite.empty() && names_models) throw CallError("--suite and --model exclude each other; give one of them");
  if (!options.repetitions.empty()) request.repetitions = options.repetitions;
  if (names_models) {
    request.drafts = expand(options.cases);
    return request;
  }
  const Suite suite = load_suite(options.suite.empty() ? kDefaultSuite : options.suite);
  if (options.repetitions.empty()) {
    request.repetitions = suite.repetitions;
    request.repetitions_from = "suite " + suite.name + ": repetitions";
  }
  for (const CaseBlock& block : suite.cases)
    for (CaseDraft& draft : cases_of(block, options.cases)) request.drafts.push_back(std::move(draft));
  if (request.drafts.empty()) throw CallError("--device: suite " + suite.name + " has no case for any of these devices");
  return request;
}

// What identifies a run in a file, whose names may be anonymous.
bool same_run(const Run& run, const PlannedCase& planned, bool anonymous_names) {
  if (run.repetition != planned.spec.repetition) return false;
  if (!anonymous_names) return run.name == planned.spec.name;
  Run candidate;
  candidate.name = planned.spec.name;
  candidate.workload = planned.workload;
  return run.name == candidate.name || run.name == anonymous(Result{{}, {candidate}}).runs[0].name;
}

struct Resumed {
  Result result;
  std::vector<PlannedCase> remaining;
};

Resumed resume(const RunOptions& options, std::vector<PlannedCase> cases) {
  if (options.resume.empty()) return {{}, std::move(cases)};
  if (!std::filesystem::exists(options.resume))
    throw CallError("--resume: there is no " + options.resume + "; begin it with --out " + options.resume);
  Resumed resumed{read_result(options.resume), {}};
  const std::string here = cpu_info().model, there = resumed.result.context.cpu.model;
  if (here != there)
    throw CallError("--resume: " + options.resume + " was measured on " + there + ", and this machine is " + here +
                    "; leave out --resume to begin a result of its own");
  const Context now = describe_context({});
  if (resumed.result.context.git_sha != now.git_sha)
    print_error("warning: the runs in " + options.resume + " are of another build (" +
                resumed.result.context.git_sha.value_or("unknown") + "); the file will name this one");
  for (PlannedCase& planned : cases) {
    const bool done = std::any_of(resumed.result.runs.begin(), resumed.result.runs.end(), [&](const Run& run) {
      return run.status == RunStatus::ok && run.workload.fingerprint == planned.workload.fingerprint &&
             same_run(run, planned, options.anonymous);
    });
    if (!done) resumed.remaining.push_back(std::move(planned));
  }
  return resumed;
}

// Measured once for all cases; taken over from a resumed result of this machine.
void fill_peaks(CpuInfo& cpu, const CpuInfo& earlier) {
  const auto known = earlier.peak_flops_per_second.find("fp32");
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
    if (!planned.obstacle && cuda_index(planned.spec.device) >= 0) used.insert(cuda_index(planned.spec.device));
  for (int index : used) {
    const auto at = static_cast<std::size_t>(index);
    if (at < gpus.size() && at < earlier.size() && gpus[at].name == earlier[at].name &&
        earlier[at].memory_bandwidth_bytes_per_second) {
      gpus[at].peak_flops_per_second = earlier[at].peak_flops_per_second;
      gpus[at].memory_bandwidth_bytes_per_second = earlier[at].memory_bandwidth_bytes_per_second;
      gpus[at].host_to_device_bytes_per_second = earlier[at].host_to_device_bytes_per_second;
    } else {
      measure_peaks_of(gpus, index);
    }
  }
}

// What the device of a run can do at most in its precision.
DeviceLimits limits_of(const Context& context, const PlannedCase& planned) {
  const auto limits = [&](const auto& device) {
    const auto peak = device.peak_flops_per_second.find(planned.spec.precision);
    return DeviceLimits{peak != device.peak_flops_per_second.end() ? peak->second : std::nullopt,
                        device.memory_bandwidth_bytes_per_second};
  };
  const int index = cuda_index(planned.spec.device);
  if (index < 0) return limits(context.cpu);
  return static_cast<std::size_t>(index) < context.gpus.size() ? limits(context.gpus[static_cast<std::size_t>(index)])
                                                               : DeviceLimits{};
}

Run skipped(const PlannedCase& planned) {
  Run run;
  run.status = RunStatus::skipped;
  run.message = planned.obstacle->reason;
  if (planned.spec.device == "cpu")
    run.device = {"cpu", cpu_info().model, planned.spec.threads, std::nullopt};
  else
    run.device = {"cuda", planned.spec.device, std::nullopt, std::nullopt};
  return run;
}

void identify(Run& run, const PlannedCase& planned) {
  run.name = planned.spec.name;
  run.repetition = planned.spec.repetition;
  run.workload = planned.workload;
  run.precision = planned.spec.precision;
}

void derive(Run& run, const PlannedCase& planned, const Context& context, const Prices& prices) {
  if (run.status != RunStatus::ok || !run.timing || !run.throughput) return;
  if (!run.efficiency) run.efficiency.emplace();
  if (run.workload.tokens_per_sample)
    run.throughput->tokens_per_second =
        static_cast<double>(*run.workload.tokens_per_sample) * run.throughput->samples_per_second;
  run.efficiency->flops_per_second = planned.flops_per_sample * run.throughput->samples_per_second;
  const DeviceLimits limits = limits_of(context, planned);
  if (limits.flops_per_second) run.efficiency->peak_fraction = run.efficiency->flops_per_second / *limits.flops_per_second;
  if (run.profile) complete_profile(*run.profile, limits);
  if (!run.energy) run.energy.emplace();
  run.cost = prices.cost(planned.spec.device, *run.timing);
}

void put(Result& result, Run run, const PlannedCase& planned, bool anonymous_names) {
  std::erase_if(result.runs, [&](const Run& old) { return same_run(old, planned, anonymous_names); });
  result.runs.push_back(std::move(run));
  fill_parity(result.runs);
}

// How many runs other processes disturbed, by more than a tenth of a core, and which most.
void tell_interference(const Result& result) {
  constexpr double kNoticeableCores = 0.1;
  double most = kNoticeableCores;
  int count = 0;
  const Run* disturbed = nullptr;
  for (const Run& run : result.runs) {
    const double cores = run.interference ? run.interference->foreign_cpu_cores.value_or(0) : 0;
    count += cores > kNoticeableCores;
    if (cores <= most) continue;
    most = cores;
    disturbed = &run;
  }
  if (disturbed)
    std::printf(
        "interference: other processes took CPU time during %d run%s, %.2g cores during %s; measure again on a quiet "
        "machine\n",
        count, count == 1 ? "" : "s", most, disturbed->name.c_str());
}

// The clock that times a GPU's steps against the host's.
void tell_clocks(const Result& result) {
  constexpr double kNoticeable = 0.01;
  for (const Run& run : result.runs)
    if (run.timing && run.timing->clock_disagreement.value_or(0) > kNoticeable)
      std::printf("clocks: the steps of %s by the device's clock and the same window by the host's differ by %s\n",
                  run.name.c_str(), format_percent(*run.timing->clock_disagreement).c_str());
}

template <typename DeviceDescription>
std::string with_limits(std::string name, const DeviceDescription& device) {
  for (const auto& [precision, peak] : device.peak_flops_per_second)
    if (peak) name += ", " + precision + " peak " + format_si(*peak, "FLOP/s");
  if (device.memory_bandwidth_bytes_per_second)
    name += ", memory " + format_si(*device.memory_bandwidth_bytes_per_second, "B/s");
  return name;
}

void print_summary(const Result& result, const std::string& path) {
  std::string head = with_limits(result.context.cpu.model, result.context.cpu);
  for (const GpuInfo& gpu : result.context.gpus)
    if (gpu.memory_bandwidth_bytes_per_second) head += "\n" + with_limits(gpu.name, gpu);
  std::printf("\n%s\n\n%s\n", head.c_str(), summary(result).c_str());
  for (const Run& run : result.runs)
    if (run.status == RunStatus::ok && run.profile) std::printf("%s\n", profile_text(run).c_str());
  bool projected = false, priced = false;
  std::set<std::string> sources;
  for (const Run& run : result.runs) {
    if (run.timing && run.timing->epoch_kind == "projected" && run.workload.dataset == "synthetic") projected = true;
    if (run.cost && run.cost->price_source) sources.insert(*run.cost->price_source);
    priced = priced || run.cost;
  }
  if (projected) std::printf("projected: from the measured steps; of synthetic data, so reading and decoding are left out\n");
  std::fputs(remarks(result).c_str(), stdout);
  for (const std::string& source : sources) std::printf("price: %s\n", source.c_str());
  tell_interference(result);
  tell_clocks(result);
  if (!priced)
    std::printf("cost: no price is known for this machine; give --price cpu=USD_PER_HOUR (epochbench list prices)\n");
  std::printf("result: %s\n", path.c_str());
  std::fflush(stdout);
}

int exit_code(const std::vector<PlannedCase>& cases, const Result& result) {
  for (const PlannedCase& planned : cases)
    for (const Run& run : result.runs) {
      if (run.name != planned.spec.name || run.repetition != planned.spec.repetition) continue;
      if (run.status != RunStatus::ok && run.status != RunStatus::skipped) return kExitAnswerIsNo;
    }
  return kExitDone;
}

// One line a reason, however many cases it stops.
void tell_obstacles(const std::vector<PlannedCase>& cases) {
  std::set<std::string> told;
  for (const PlannedCase& planned : cases)
    if (planned.obstacle && told.insert(planned.obstacle->reason).second) print_error("skipped: " + planned.obstacle->reason);
}

}  // namespace

int run_command(const RunOptions& options) {
  const Request request = request_of(options);
  int repetitions = 1;
  try {
    repetitions = static_cast<int>(parse_integer(request.repetitions, 1, kMaxRepetitions));
  } catch (const CallError& error) {
    throw CallError(request.repetitions_from + ": " + error.what());
  }
  const Prices prices(options.price);
  std::vector<PlannedCase> cases = plan_cases(request.drafts, repetitions);
  for (PlannedCase& planned : cases) planned.spec.profile = options.profile;
  auto [result, remaining] = resume(options, cases);
  const std::string out = !options.out.empty() ? options.out : !options.resume.empty() ? options.resume : default_out();
  ResultKeeper keeper(out, options.anonymous);

  catch_interrupts();
  tell_obstacles(remaining);
  ProgressDisplay display(remaining.size(), options.quiet);
  const Context earlier = std::exchange(result.context, describe_context(options.command_line));
  result.context.gpus = list_gpus();
  display.note("measuring this machine's peaks");
  fill_peaks(result.context.cpu, earlier.cpu);
  fill_peaks(result.context.gpus, earlier.gpus, remaining);

  const std::string binary = own_binary();
  for (const PlannedCase& planned : remaining) {
    if (interrupted()) break;
    display.begin(planned.spec.name);
    Run run = planned.obstacle ? skipped(planned)
                               : run_case(
                                     planned.spec, binary, [&](const Progress& p) { display.update(p); }, interrupted);
    identify(run, planned);
    derive(run, planned, result.context, prices);
    display.end(run);
    if (run.status != RunStatus::ok && run.status != RunStatus::skipped && options.quiet) print_error(one_line(run));
    put(result, std::move(run), planned, options.anonymous);
    keeper.save(result);
  }
  if (remaining.empty()) keeper.save(result);
  const bool written = keeper.finish(result);
  display.clear();
  if (!options.quiet && !result.runs.empty()) print_summary(result, keeper.path());
  if (interrupted()) return kExitInterrupted;
  return written ? exit_code(cases, result) : kExitCallIsWrong;
}

}  // namespace epochbench
