// The result table that a person reads after a run, and what to know beside it.
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
  return static_cast<double>(run.gpu->throttled_steps.value_or(0)) / static_cast<double>(run.timing->step_seconds.size());
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

std::string half_width(const Timing& timing) {
  if (timing.step_seconds.size() < kFewestStepsOfInterval || !timing.step_seconds_ci95 || timing.step_seconds_median <= 0)
    return "";
  const auto [low, high] = *timing.step_seconds_ci95;
  return " ±" + significant((high - low) / 2 / timing.step_seconds_median * 100, 2) + "%";
}

// Repetitions have one name; a suite may skip hundreds of runs for one reason.
std::string cases_text(std::vector<std::string> names_of_runs) { return some_of(without_repeats(std::move(names_of_runs)), 8); }

std::string step_cell(const Timing& timing) { return format_seconds(timing.step_seconds_median) + half_width(timing); }

std::string measure(const std::string& metric, double value) {
  return metric == "accuracy" ? "accuracy " + format_percent(value) : "test loss " + three_digits(value);
}

std::string latency_cell(const Latency& latency) {
  std::string text;
  if (latency.p50_seconds) text += "p50 " + format_seconds(*latency.p50_seconds) + ", ";
  if (latency.p99_seconds) text += "p99 " + format_seconds(*latency.p99_seconds) + ", ";
  return "latency " + text + "worst " + format_seconds(latency.worst_seconds);
}

// A resumed result may name another currency.
std::string cost_cell(const Run& run) {
  if (!run.cost || !run.cost->usd_per_epoch) return "";
  const double amount = *run.cost->usd_per_epoch;
  return in_usd(*run.cost) ? format_usd(amount) : three_digits(amount) + " " + *run.cost->currency;
}

std::string quality_cell(const Run& run) {
  if (run.latency) return latency_cell(*run.latency);
  if (!run.quality) return "";
  const Quality& quality = *run.quality;
  if (quality.eval_metric && quality.eval_value) return measure(*quality.eval_metric, *quality.eval_value);
  return quality.final_loss ? "loss " + three_digits(*quality.final_loss) : "";
}

std::optional<double> mean_over_median(const Run& run) {
  if (!run.timing || run.timing->step_seconds.size() < kFewestStepsOfInterval || run.timing->step_seconds_median <= 0)
    return std::nullopt;
  const double mean = run.timing->steps_total_seconds / static_cast<double>(run.timing->step_seconds.size());
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

std::string energy_cell(const Run& run) {
  if (!run.energy) return "";
  const Energy& energy = *run.energy;
  if (energy.joules_per_epoch) return format_si(*energy.joules_per_epoch, "J");
  if (energy.gpu_joules_per_epoch) return "GPU " + format_si(*energy.gpu_joules_per_epoch, "J");
  return energy.cpu_joules_per_epoch ? "CPU " + format_si(*energy.cpu_joules_per_epoch, "J") : "";
}

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

std::string summary(const Result& result) {
  Table table(
      {"run", ">step", ">samples/s", "->epoch", "--", "-->cost/epoch", "--->energy/epoch", "---result", "---->of peak"});
  std::string others;
  Reasons skipped;
  bool any = false;
  const bool repeats = std::ranges::any_of(result.runs, [](const Run& run) { return run.repetition > 0; });
  for (const Run& run : result.runs) {
    if (run.status == RunStatus::skipped) {
      add_reason(skipped, run.message.value_or("no reason is known"), run.name);
      continue;
    }
    if (run.status != RunStatus::ok || !run.timing || !run.throughput) {
      others += one_line(run) + "\n";
      continue;
    }
    any = true;
    table.add({(repeats ? run.name + " #" + std::to_string(run.repetition) : run.name) + load_mark(is_loaded(run)),
               step_cell(*run.timing), format_rate(run.throughput->samples_per_second),
               format_seconds(run.timing->epoch_seconds), run.timing->epoch_kind, cost_cell(run), energy_cell(run),
               quality_cell(run), cell(figure<&Run::efficiency, &Efficiency::peak_fraction>(run), format_percent)});
  }
  for (const auto& [reason, names] : skipped) others += "skipped: " + cases_text(names) + "\n  " + reason + "\n";
  return (any ? below_load_note(table.to_string()) : std::string()) + others;
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
  return time.name + " reached " + measure(time.metric, time.reached) + " in " + format_seconds(time.seconds) +
         ", set-up and evaluation included" +
         (time.not_reached > 0   ? ", mean of the " + of_all + " repetitions that reached it"
          : time.repetitions > 1 ? ", mean of " + count
                                 : std::string());
}

std::string one_line(const Run& run) {
  if (run.status == RunStatus::ok && run.timing && run.throughput) {
    const std::string quality = quality_cell(run);
    return run.name + ": " + step_cell(*run.timing) + " per step, " + format_rate(run.throughput->samples_per_second) +
           " samples/s" + (quality.empty() ? "" : ", " + quality);
  }
  return run.name + ": " + describe(run.status, run.message);
}

}  // namespace epochbench
