#include "src/report/text/summary.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "src/base/table.h"
#include "src/base/units.h"
#include "src/report/text/energy_text.h"

namespace epochbench {
namespace {

constexpr double kPlannedWithin = 0.1, kPlannedWithinBytes = 32e6;  // of a run's memory: what `plan` promises
constexpr double kNoticeable = 1.05;                                // mean over median: most of a step's noise is less

std::string half_width(const Timing& timing) {
  if (timing.step_seconds.size() < kFewestStepsOfInterval || !timing.step_seconds_ci95 || timing.step_seconds_median <= 0)
    return "";
  const auto [low, high] = *timing.step_seconds_ci95;
  return " ±" + significant((high - low) / 2 / timing.step_seconds_median * 100, 2) + "%";
}

// Repetitions have one name; a suite may skip hundreds of runs for one reason.
std::string some_of(const std::vector<std::string>& names_of_runs) {
  constexpr std::size_t kMost = 8;
  std::vector<std::string> names;
  for (const std::string& name : names_of_runs)
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) text += (i ? ", " : "") + names[i];
  return names.size() > kMost ? text + " and " + std::to_string(names.size() - kMost) + " more" : text;
}

std::string step_cell(const Timing& timing) { return format_seconds(timing.step_seconds_median) + half_width(timing); }

std::string measure(const std::string& metric, double value) {
  return metric == "accuracy" ? "accuracy " + format_percent(value) : "test loss " + significant(value, 3);
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
  return in_usd(*run.cost) ? format_usd(amount) : significant(amount, 3) + " " + *run.cost->currency;
}

std::string quality_cell(const Run& run) {
  if (run.latency) return latency_cell(*run.latency);
  if (!run.quality) return "";
  const Quality& quality = *run.quality;
  if (quality.eval_metric && quality.eval_value) return measure(*quality.eval_metric, *quality.eval_value);
  return quality.final_loss ? "loss " + significant(*quality.final_loss, 3) : "";
}

// Of the runs whose memory was not as planned, the one that was furthest from it.
std::string memory_remark(const Result& result) {
  std::string text;
  double furthest = 0;
  for (const Run& run : result.runs) {
    if (!run.memory || !run.memory->planned_bytes || !run.memory->peak_bytes) continue;
    const auto planned = static_cast<double>(*run.memory->planned_bytes), peak = static_cast<double>(*run.memory->peak_bytes);
    const double apart = std::fabs(peak - planned);
    if (apart <= kPlannedWithin * planned + kPlannedWithinBytes || apart <= furthest) continue;
    furthest = apart;
    text = "memory: " + run.name + " took " + format_bytes(peak) + " and was planned at " + format_bytes(planned) +
           (run.device.backend == "cuda" ? "; the driver counts libraries' code and other processes too\n" : "\n");
  }
  return text;
}

}  // namespace

std::string summary(const Result& result) {
  using Align = Table::Align;
  Table table({{"run"},
               {"step", Align::right},
               {"samples/s", Align::right},
               {"epoch", Align::right},
               {"", Align::left},
               {"cost/epoch", Align::right},
               {"energy/epoch", Align::right},
               {"result", Align::left},
               {"of peak", Align::right}});
  std::string others;
  std::vector<std::pair<std::string, std::vector<std::string>>> skipped;  // reason, and the runs that it keeps from running
  bool any = false, repeats = false;
  for (const Run& run : result.runs) repeats = repeats || run.repetition > 0;
  for (const Run& run : result.runs) {
    if (run.status == RunStatus::skipped) {
      const std::string reason = run.message.value_or("no reason is known");
      auto known = std::find_if(skipped.begin(), skipped.end(), [&](const auto& entry) { return entry.first == reason; });
      if (known == skipped.end()) known = skipped.insert(known, {reason, {}});
      known->second.push_back(run.name);
      continue;
    }
    if (run.status != RunStatus::ok || !run.timing || !run.throughput) {
      others += one_line(run) + "\n";
      continue;
    }
    any = true;
    const auto optional = [](const std::optional<double>& value, auto format) {
      return value ? format(*value) : std::string();
    };
    table.add({repeats ? run.name + " #" + std::to_string(run.repetition) : run.name, step_cell(*run.timing),
               format_rate(run.throughput->samples_per_second), format_seconds(run.timing->epoch_seconds),
               run.timing->epoch_kind, cost_cell(run), energy_cell(run), quality_cell(run),
               run.efficiency ? optional(run.efficiency->peak_fraction, format_percent) : ""});
  }
  for (const auto& [reason, names] : skipped) others += "skipped: " + some_of(names) + "\n  " + reason + "\n";
  return (any ? table.to_string() : std::string()) + others;
}

std::string remarks(const Result& result) {
  std::string text;
  const Run* skewed = nullptr;
  double most = kNoticeable;
  int count = 0;
  for (const Run& run : result.runs) {
    if (!run.timing || run.timing->step_seconds.size() < kFewestStepsOfInterval || run.timing->step_seconds_median <= 0)
      continue;
    const double mean = run.timing->steps_total_seconds / static_cast<double>(run.timing->step_seconds.size());
    const double ratio = mean / run.timing->step_seconds_median;
    count += ratio > kNoticeable;
    if (ratio <= most) continue;
    most = ratio;
    skewed = &run;
  }
  if (skewed)
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
    text += "of peak: of what " + std::to_string(*peak_threads) + " threads reach together, also for " + some_of(others) + "\n";
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
