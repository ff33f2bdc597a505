// Remarks below the table of a run: steps, peaks, qualities, energy, memory.
#include <algorithm>
#include <cmath>

#include "src/analysis/fairness.h"
#include "src/base/openmp_variables.h"
#include "src/base/text.h"
#include "src/report/text/result_text.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

constexpr std::size_t kMaxLines = 3;  // of one kind; the result has them all

// "energy: mlp/cpu/fp32/b64 and 3 more: ...", without names if it applies to all `runs`.
std::string energy_lines(const std::vector<Reason>& reasons, std::size_t runs) {
  const std::string head = "energy: ";
  std::string text;
  for (std::size_t i = 0; i < std::min(reasons.size(), kMaxLines); ++i) {
    const auto& [reason, names] = reasons[i];
    text += head + (names.size() == runs ? "" : some_of(names, 1) + ": ") + reason + "\n";
  }
  if (reasons.size() > kMaxLines)
    text += head + std::to_string(reasons.size() - kMaxLines) + " more such lines in the result\n";
  return text;
}

// The run whose value is furthest above a limit, and how many are above it; without a run if none is.
struct Furthest {
  const Run* run = nullptr;
  double value = 0;
  int count = 0;
};
Furthest furthest_above(double limit, const std::vector<Run>& runs, std::optional<double> (*value)(const Run&)) {
  Furthest furthest{nullptr, limit, 0};
  for (const Run& run : runs) {
    const double own = run.status == RunStatus::ok ? value(run).value_or(limit) : limit;
    if (own > limit) ++furthest.count;
    if (own > furthest.value) furthest = {&run, own, furthest.count};
  }
  return furthest;
}

std::optional<double> throttled_share(const Run& run) {
  if (run.status != RunStatus::ok || !run.gpu || !run.timing || run.timing->step_seconds.empty()) return std::nullopt;
  return static_cast<double>(run.gpu->throttled_steps.value_or(0)) / static_cast<double>(run.timing->steps());
}

std::string throttling(const Result& result) {
  const auto [worst, most, count] = furthest_above(0, result.runs, throttled_share);
  if (!worst) return "";
  return "throttled: the GPU's clock was held down in " +
         (count == 1 ? std::string("a run") : std::to_string(count) + " runs") + ", during " + format_percent(most) +
         " of the steps of " + worst->name + " (" + joined(worst->gpu->throttle_reasons) + ")\n";
}

constexpr double kPlannedWithin = 0.1, kPlannedWithinBytes = 32e6;  // how close to a run's memory `plan` promises to be
constexpr double kNoticeable = 1.05;                                // mean over median: most of a step's noise is less

std::optional<double> mean_over_median(const Run& run) {
  if (!run.timing || run.timing->step_seconds.size() < kMinStepsForSpread || run.timing->step_seconds_median <= 0)
    return std::nullopt;
  const double mean = run.timing->steps_total_seconds / static_cast<double>(run.timing->steps());
  return mean / run.timing->step_seconds_median;
}

std::string blind_remark(const Result& result) {
  const auto [worst, most, count] = furthest_above(kFairBlindShare, result.runs, blind_share);
  if (!worst) return "";
  const std::string others = counted(static_cast<std::size_t>(count - 1), "other run", "other runs");
  return "blind: " + format_percent(most) + " of a step of " + worst->name +
         (count == 1 ? "" : ", and less of " + others + ",") +
         " runs algorithms that no time was left to compare with others; another call compares what is left\n";
}

// Bytes between planned and measured memory, if they differ by more than `plan` promises.
std::optional<double> memory_off_plan(const Run& run) {
  const auto planned = kPlannedMemory.value(run), peak = kPeakMemory.value(run);
  if (!planned || !peak) return std::nullopt;
  const double apart = std::fabs(*peak - *planned);
  return apart > kPlannedWithin * *planned + kPlannedWithinBytes ? std::optional(apart) : std::nullopt;
}

std::string memory_remark(const Result& result) {
  const Run* run = furthest_above(0, result.runs, memory_off_plan).run;
  if (!run) return "";
  return "memory: " + run->name + " took " + format_bytes(static_cast<double>(*run->memory->peak_bytes)) +
         " and was planned at " + format_bytes(static_cast<double>(*run->memory->planned_bytes)) +
         (run->device.backend == BackendKind::cuda ? "; the driver counts libraries' code and other processes too\n" : "\n");
}

// What image files were found, and which of them a run leaves out: once per set and what is said of it.
std::string data_remarks(const Result& result) {
  std::vector<std::string> lines;
  for (const Run& run : result.runs) {
    if (run.status != RunStatus::ok || !run.input || !run.input->files) continue;
    const ImageFiles& files = *run.input->files;
    const Workload& work = run.workload;
    std::string line = "data: " + work.dataset + ": " + counted(static_cast<std::size_t>(files.classes), "class", "classes") +
                       ", " + format_count(files.training) + " images to train on, " + format_count(files.validation) +
                       " to validate";
    if (const auto classes = work.options.find("classes"); classes != work.options.end() && classes->second > files.classes)
      line += "; " + work.model + " has " + format_count(classes->second) + " classes: " + work.model +
              ":classes=" + std::to_string(files.classes) + " has as many as the data";
    if (const std::int64_t rest = files.training % work.batch; rest > 0 && work.samples_per_epoch == files.training - rest)
      line += "; an epoch leaves out " + format_count(rest) + ", less than a batch of " + format_count(work.batch);
    if (const std::int64_t bad = run.input->left_out_images.value_or(0); bad > 0)
      line += "; " + counted(static_cast<std::size_t>(bad), "image", "images") +
              " could not be decoded, and others took their place";
    if (!contains(lines, line)) lines.push_back(std::move(line));
  }
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// " (11.8 s to 13.0 s)"; an end is open if it falls among repetitions that missed the target.
std::string bounds_text(const CensoredMedian& median) {
  if (!median.low) return "";
  return " (" +
         (median.high ? range_text({*median.low, *median.high}, format_seconds) : "at least " + format_seconds(*median.low)) +
         ")";
}

}  // namespace

std::string energy_remarks(const Result& result) {
  Reasons unknown, remarks, idle;
  std::size_t runs = 0;
  for (const Run& run : result.runs) {
    if (run.status != RunStatus::ok || !run.energy) continue;
    ++runs;
    if (run.energy->reason) add_reason(unknown, "not known: " + *run.energy->reason, run.name);
    for (const std::string& remark : run.energy->remarks) add_reason(remarks, remark, run.name);
    if (run.energy->idle_watts)
      add_reason(idle, "idle draw before the first run " + format_si(*run.energy->idle_watts, "W") + ", not subtracted",
                 run.name);
  }
  return energy_lines(unknown.list(), runs) + energy_lines(remarks.list(), runs) + energy_lines(idle.list(), runs) +
         throttling(result);
}

std::string kernels_remark(const Context& context) {
  const std::vector<std::string> missing = missing_kernels(context);
  if (missing.empty()) return "";
  return "kernels_missing: this build has no kernels for " + joined(missing) +
         ", which this CPU has, so the CPU can be faster; build here with scripts/run, or with EPOCHBENCH_KERNELS=all";
}

namespace {

// "environment: OMP_PROC_BIND=true was set and is not followed; ..."
std::string environment_remarks(const Context& context) {
  std::vector<std::string> ignored;
  for (const auto& [name, value] : context.environment)
    if (is_of_openmp(name)) ignored.push_back(name + "=" + value);
  std::string text;
  if (!ignored.empty())
    text += "environment: " + joined(ignored) + (ignored.size() == 1 ? " was" : " were") +
            " set and not followed: --threads and --pin say how many threads run, and where\n";
  if (context.nice.value_or(0) > 0)
    text += "nice: this ran at a nice value of " + std::to_string(*context.nice) + ", so other processes came first\n";
  return text;
}

std::string stops_remark(const Result& result) {
  std::size_t steps = 0;
  std::vector<std::string> names;
  for (const Run& run : result.runs) {
    const std::size_t timed = run.timing ? run.timing->stopped_steps.size() : 0;
    const auto latencies = static_cast<std::size_t>(run.latency ? run.latency->stopped_steps.value_or(0) : 0);
    if (timed + latencies == 0) continue;
    steps += timed + latencies;
    names.push_back(run.name);
  }
  if (names.empty()) return "";
  return "stopped: the process was stopped by a signal during " + counted(steps, "step", "steps") + " of " + cases_text(names) +
         ", which the times leave out\n";
}

// Where cores are of several kinds, which of them the runs had.
std::string kinds_remark(const Result& result) {
  const CpuInfo& cpu = result.context.cpu;
  const bool usual = std::ranges::any_of(result.runs, [](const Run& run) {
    return run.status == RunStatus::ok && run.device.backend == BackendKind::cpu && !run.settings.contains("threads");
  });
  if (!cpu.fast_cores || !usual) return "";
  return "cores: this CPU has " + cores_text(cpu) + ", which runs without --threads use\n";
}

// Runs that got fewer threads than are usual here. A run for which --threads names more has failed.
std::string missing_threads_remark(const Result& result) {
  std::vector<std::string> names;
  const int usual = result.context.cpu.peak_threads.value_or(1);
  for (const Run& run : result.runs)
    if (run.status == RunStatus::ok && run.device.backend == BackendKind::cpu && !run.ranks &&
        !run.settings.contains("threads") && !run.device.cpus.empty() && run.device.threads.value_or(usual) < usual)
      names.push_back(run.name);
  if (names.empty()) return "";
  return "threads_missing: OpenMP granted fewer threads than the " + std::to_string(usual) + " of this machine to " +
         cases_text(names) +
         "; a limit on processes (ulimit -u, pids.max) or another library of OpenMP (LD_PRELOAD) can be the cause\n";
}

}  // namespace

std::string remarks(const Result& result) {
  std::string text =
      environment_remarks(result.context) + kinds_remark(result) + missing_threads_remark(result) + stops_remark(result);
  const bool on_cpu = std::ranges::any_of(
      result.runs, [](const Run& run) { return run.status == RunStatus::ok && run.device.backend == BackendKind::cpu; });
  if (const std::string remark = kernels_remark(result.context); on_cpu && !remark.empty()) text += remark + "\n";
  if (const auto [skewed, most, count] = furthest_above(kNoticeable, result.runs, mean_over_median); skewed)
    text += "mean: " + (count == 1 ? std::string("a run's") : std::to_string(count) + " runs'") +
            " steps last longer on average than their median, by " + significant((most - 1) * 100, 2) + " % in " +
            skewed->name + "; samples/s, epoch and cost are of the average\n";
  std::vector<std::string> others;
  const std::optional<int> peak_threads = result.context.cpu.peak_threads;
  for (const Run& run : result.runs)
    if (run.efficiency && run.efficiency->peak_fraction && peak_threads && run.device.backend == BackendKind::cpu &&
        !run.turns && cpu_threads(run).value_or(*peak_threads) != *peak_threads)
      others.push_back(run.name);
  if (!others.empty())
    text +=
        "of peak: of what " + std::to_string(*peak_threads) + " threads reach together, also for " + cases_text(others) + "\n";
  for (const std::string& sentence : capped_shares(result.runs)) text += "of peak: " + sentence + "\n";
  std::vector<std::string> ranks;
  for (const Run& run : result.runs)
    if (std::string line = rank_remark(run); !line.empty()) ranks.push_back(std::move(line));
  for (std::size_t i = 0; i < std::min(ranks.size(), kMaxLines); ++i) text += ranks[i];
  if (ranks.size() > kMaxLines)
    text += "ranks: " + std::to_string(ranks.size() - kMaxLines) + " more such lines in the result\n";
  text += blind_remark(result) + data_remarks(result);
  for (const TimeToQuality& time : times_to_quality(result.runs)) text += "to quality: " + time_to_quality(time) + "\n";
  return text + energy_remarks(result) + memory_remark(result);
}

std::string time_to_quality(const TimeToQuality& time) {
  const std::size_t all = time.repetitions + time.not_reached;
  std::string text = time.name;
  if (time.repetitions == 0)
    return text + " did not reach " + time.target + (all > 1 ? " in any of " + std::to_string(all) : "");
  const Figure& measure = time.metric == EvalMetric::accuracy ? kTestAccuracy : kTestLoss;
  const std::string reached = cell(time.reached, measure.unit.text);
  text += " reached " + (time.target.empty() ? measure.short_title + (" " + reached) : time.target + " (" + reached + ")");
  if (all > 1) text += " in " + std::to_string(time.repetitions) + " of " + std::to_string(all) + " repetitions";
  if (!time.seconds.value) return text + ": the median lies among those that did not";
  text += (all > 1 ? ", after " : " after ") + format_seconds(*time.seconds.value);
  if (all > 1) text += ", the median" + bounds_text(time.seconds);
  text += time.wall_time            ? ", set-up and evaluation included"
          : time.evaluation_seconds ? ", " + format_seconds(*time.evaluation_seconds) + " of it evaluation"
                                    : "";
  if (time.mean_seconds) text += ", " + format_seconds(*time.mean_seconds) + " on average without the fastest and the slowest";
  if (time.usd.value) text += ", " + format_usd(*time.usd.value);
  if (time.joules.value) text += ", " + format_si(*time.joules.value, "J") + " at the power of the timed steps, evaluation too";
  if (time.first_use_seconds && *time.first_use_seconds > 0)
    text += "; first use: " + format_seconds(*time.first_use_seconds) + " more to compile";
  return text;
}

}  // namespace epochbench
