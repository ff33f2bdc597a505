// What to know beside the table of a run: steps, peaks, qualities, energy, memory.
#include <algorithm>
#include <cmath>

#include "src/base/text.h"
#include "src/report/text/result_text.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

constexpr std::size_t kMostLines = 3;  // of one kind; the result has them all

// "energy: mlp/cpu/fp32/b64 and 3 more: ...", without names where it is about all `runs`.
std::string energy_lines(const std::vector<Reason>& reasons, std::size_t runs) {
  const std::string head = "energy: ";
  std::string text;
  for (std::size_t i = 0; i < std::min(reasons.size(), kMostLines); ++i) {
    const auto& [reason, names] = reasons[i];
    text += head + (names.size() == runs ? "" : some_of(names, 1) + ": ") + reason + "\n";
  }
  if (reasons.size() > kMostLines)
    text += head + std::to_string(reasons.size() - kMostLines) + " more such lines in the result\n";
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
    const double own = value(run).value_or(limit);
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

constexpr double kPlannedWithin = 0.1, kPlannedWithinBytes = 32e6;  // of a run's memory: what `plan` promises
constexpr double kNoticeable = 1.05;                                // mean over median: most of a step's noise is less

std::optional<double> mean_over_median(const Run& run) {
  if (!run.timing || run.timing->step_seconds.size() < kFewestStepsOfSpread || run.timing->step_seconds_median <= 0)
    return std::nullopt;
  const double mean = run.timing->steps_total_seconds / static_cast<double>(run.timing->steps());
  return mean / run.timing->step_seconds_median;
}

// Bytes between what was planned and what was taken, where these are further apart than `plan` promises.
std::optional<double> memory_off_plan(const Run& run) {
  const auto planned = figure<&Run::memory, &Memory::planned_bytes>(run), peak = figure<&Run::memory, &Memory::peak_bytes>(run);
  if (!planned || !peak) return std::nullopt;
  const double apart = std::fabs(*peak - *planned);
  return apart > kPlannedWithin * *planned + kPlannedWithinBytes ? std::optional(apart) : std::nullopt;
}

std::string memory_remark(const Result& result) {
  const Run* run = furthest_above(0, result.runs, memory_off_plan).run;
  if (!run) return "";
  return "memory: " + run->name + " took " + format_bytes(static_cast<double>(*run->memory->peak_bytes)) +
         " and was planned at " + format_bytes(static_cast<double>(*run->memory->planned_bytes)) +
         (run->device.backend == "cuda" ? "; the driver counts libraries' code and other processes too\n" : "\n");
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

std::string remarks(const Result& result) {
  std::string text;
  if (const auto [skewed, most, count] = furthest_above(kNoticeable, result.runs, mean_over_median); skewed)
    text += "mean: " + (count == 1 ? std::string("a run's") : std::to_string(count) + " runs'") +
            " steps last longer on average than their median, by " + significant((most - 1) * 100, 2) + " % in " +
            skewed->name + "; samples/s, epoch and cost are of the average\n";
  std::vector<std::string> others;
  const std::optional<int> peak_threads = result.context.cpu.peak_threads;
  for (const Run& run : result.runs)
    if (run.efficiency && run.efficiency->peak_fraction && peak_threads && run.device.backend == "cpu" &&
        run.device.threads.value_or(*peak_threads) != *peak_threads)
      others.push_back(run.name);
  if (!others.empty())
    text +=
        "of peak: of what " + std::to_string(*peak_threads) + " threads reach together, also for " + cases_text(others) + "\n";
  for (const TimeToQuality& time : times_to_quality(result.runs))
    text += "to quality: " + time_to_quality(time) + (time.usd ? ", " + format_usd(*time.usd) : std::string()) + "\n";
  return text + energy_remarks(result) + memory_remark(result);
}

std::string time_to_quality(const TimeToQuality& time) {
  const std::string count = std::to_string(time.repetitions);
  const std::string of_all = count + " of " + std::to_string(time.repetitions + time.not_reached);
  return time.name + " reached " + measure_title(time.metric) + measure_text(time.metric, time.reached) + " in " +
         format_seconds(time.seconds) + ", set-up and evaluation included" +
         (time.not_reached > 0   ? ", mean of the " + of_all + " repetitions that reached it"
          : time.repetitions > 1 ? ", mean of " + count
                                 : std::string());
}

}  // namespace epochbench
