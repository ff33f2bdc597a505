#include "src/analysis/verify/run_identities.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "epochbench/precision.h"
#include "src/analysis/predict/roofline.h"
#include "src/analysis/series.h"
#include "src/analysis/verify/agreement.h"
#include "src/base/clock.h"
#include "src/base/errors.h"
#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/base/statistics.h"
#include "src/case/run_name.h"
#include "src/figures/figure.h"
#include "src/result/price_source.h"

namespace epochbench {
namespace {

// Bursts last a second: a whole run may be this much faster than the best of them.
constexpr double kMaxShare = 1.05;
// A card may draw more than its rating for a moment; sums of a run do not.
constexpr double kMaxRatedWatts = 1.1;
// Pages that a plan counts and a step never touches.
constexpr double kMinTouched = 0.9;
// The file's share of a CPU's peak may be of an earlier or a later burst than the one that it keeps.
constexpr double kMaxBurstsApart = 1.25;

std::optional<double> times(const std::optional<double>& a, const std::optional<double>& b) {
  return a && b ? std::optional(*a * *b) : std::nullopt;
}

bool is_complete(const Timing& timing) { return timing.step_seconds_left_out.value_or(0) == 0; }

std::string total(const Run& run, const CheckedResult&) {
  if (!run.timing) return "";
  const Timing& timing = *run.timing;
  if (timing.step_seconds.empty()) return "step_seconds is empty";
  const double sum = std::accumulate(timing.step_seconds.begin(), timing.step_seconds.end(), 0.0);
  if (!is_complete(timing) && sum < timing.steps_total_seconds) return "";
  return unless_equal("steps_total_seconds", timing.steps_total_seconds, "the sum of step_seconds", sum);
}

std::string median_step(const Run& run, const CheckedResult&) {
  if (!run.timing || run.timing->step_seconds.empty() || !is_complete(*run.timing)) return "";
  const double computed = median(run.timing->step_seconds);
  if (const std::string text =
          unless_equal("step_seconds_median", run.timing->step_seconds_median, "the median of step_seconds", computed);
      !text.empty())
    return text;
  const auto& ends = run.timing->step_seconds_ci95;
  return ends && (exceeds(ends->first, computed) || exceeds(computed, ends->second))
             ? "step_seconds_ci95 does not contain the median"
             : "";
}

std::string wall(const Run& run, const CheckedResult&) {
  if (!run.timing || !exceeds(run.timing->steps_total_seconds, run.timing->wall_seconds)) return "";
  return "wall_seconds is " + significant(run.timing->wall_seconds, 4) + ", less than its steps take";
}

// NaN, which agrees with nothing, if it is not known.
double samples_per_s(const Run& run) { return kThroughput.value(run).value_or(std::numeric_limits<double>::quiet_NaN()); }

std::string rate(const Run& run, const CheckedResult&) {
  if (!run.timing || !run.throughput) return "";
  const double samples = static_cast<double>(run.workload.batch) * static_cast<double>(run.timing->steps());
  return unless_equal(kThroughput.key, samples_per_s(run), "batch × steps / total time",
                      samples / run.timing->steps_total_seconds);
}

std::string tokens(const Run& run, const CheckedResult&) {
  if (!run.throughput || !run.workload.tokens_per_sample) return "";
  return unless_equal("tokens_per_second", run.throughput->tokens_per_second, "samples/s × tokens_per_sample",
                      samples_per_s(run) * static_cast<double>(*run.workload.tokens_per_sample));
}

std::string epoch(const Run& run, const CheckedResult&) {
  if (!run.timing || !run.throughput) return "";
  // Stopped steps count in a measured epoch as if they had taken as long as the others.
  const double stopped = static_cast<double>(run.timing->stopped_steps.size() * static_cast<std::size_t>(run.workload.batch));
  const double stated = run.timing->epoch_seconds;
  const double computed = static_cast<double>(run.workload.samples_per_epoch) / samples_per_s(run);
  const double slack = run.timing->epoch_kind == EpochKind::measured ? stopped / samples_per_s(run) : 0;
  return std::fabs(stated - computed) <= slack
             ? ""
             : unless_equal("epoch_seconds", stated, "samples_per_epoch / samples/s", computed);
}

std::string epoch_kind(const Run& run, const CheckedResult&) {
  if (!run.timing || run.timing->epoch_kind != EpochKind::measured) return "";
  if (run.workload.dataset == "synthetic") return "epoch_kind is measured, but synthetic data has no epochs";
  const auto steps = run.timing->steps() + std::ssize(run.timing->stopped_steps);
  return steps * run.workload.batch >= run.workload.samples_per_epoch
             ? ""
             : "epoch_kind is measured, but " + std::to_string(steps) + " steps are less than an epoch";
}

std::optional<double> flops_per_sample(const Workload& work) {
  return work.mode == Mode::train ? std::optional(work.train_flops_per_sample) : work.forward_flops_per_sample;
}

std::string arithmetic(const Run& run, const CheckedResult&) {
  if (!run.efficiency || !run.throughput) return "";
  return unless_equal("flops_per_second", run.efficiency->flops_per_second, "FLOPs per sample × samples/s",
                      times(flops_per_sample(run.workload), samples_per_s(run)));
}

const GpuInfo* find_gpu(const Run& run, const Result& result) {
  const auto found = std::ranges::find(result.context.gpus, run.device.name, &GpuInfo::name);
  return found == result.context.gpus.end() ? nullptr : &*found;
}

std::optional<double> gpu_peak(const Run& run, const Result& result) {
  const GpuInfo* gpu = find_gpu(run, result);
  return gpu ? peak_in(gpu->peak_flops_per_second, run.precision) : std::nullopt;
}

// All bursts of a CPU in the file that the run's share may refer to: a file keeps those of several processes.
std::vector<double> cpu_bursts(const Run& run, const Result& result) {
  std::vector<double> bursts;
  const auto add = [&](const auto& peaks) {
    if (const auto peak = peak_in(peaks, product_precision(run))) bursts.push_back(*peak);
  };
  const CpuInfo& cpu = result.context.cpu;
  add(cpu.peak_flops_per_second);
  for (const PeakProcess& process : cpu.peak_processes) add(process.peak_flops_per_second);
  if (const auto* first = find_value(cpu.peak_bursts_flops_per_second, name(product_precision(run))))
    bursts.insert(bursts.end(), first->begin(), first->end());
  if (!run.turns) return bursts;
  const std::vector<double>& between = run.turns->peak_bursts_flops_per_second;
  bursts.insert(bursts.end(), between.begin(), between.end());
  if (run.turns->peak_flops_per_second) bursts.push_back(*run.turns->peak_flops_per_second);
  return bursts;
}

std::string share_on_cpu(const Run& run, const CheckedResult& checked) {
  const double rate = run.efficiency->flops_per_second, stated = run.efficiency->peak_fraction.value_or(0);
  const std::vector<double> bursts = cpu_bursts(run, checked.result);
  if (bursts.empty() || !(stated > 0)) return "";
  const auto [lowest, highest] = std::ranges::minmax(bursts);
  const double peak = rate / stated;
  return peak > highest * kMaxBurstsApart || peak < lowest / kMaxBurstsApart
             ? is_but("peak_fraction", stated, "FLOP/s over the measured peak", rate / highest)
             : "";
}

std::string share(const Run& run, const CheckedResult& checked) {
  if (!run.efficiency) return "";
  const bool on_gpu = runs_on_gpu(run);
  const auto cpu_peak = on_gpu ? std::nullopt : checked.peaks.of(run, product_precision(run));
  const double peak =
      on_gpu ? gpu_peak(run, checked.result).value_or(0) : member_of(cpu_peak, &CpuPeak::flops_per_second).value_or(0);
  if (!(peak > 0)) return "";
  const double computed = run.efficiency->flops_per_second / peak;
  if (computed > kMaxShare * (run.device.algorithms ? kWinogradSaving : 1))
    return "it computes " + format_percent(computed) + " of the peak that was measured";
  return on_gpu ? unless_equal("peak_fraction", run.efficiency->peak_fraction, "FLOP/s over the measured peak", computed)
                : share_on_cpu(run, checked);
}

std::string card(const Run& run, const CheckedResult& checked) {
  if (run.device.backend != BackendKind::cuda) return "";
  if (!find_gpu(run, checked.result)) return "it ran on '" + run.device.name + "', which is not among the GPUs of the file";
  PredictionTarget target;
  try {
    target = find_target(checked.facts.devices, {}, run.device.name);
  } catch (const CallError&) {  // the catalog has no such card, or several
    return "";
  }
  if (!target.device->is_gpu) return "";
  const RatedLimits rated = limits_of(target, run.precision);
  if (!rated.flops_per_second) return run.device.name + " cannot compute in " + name(run.precision) + ": " + rated.reason;
  const double saving = run.device.algorithms ? kWinogradSaving : 1;
  if (run.efficiency && run.efficiency->flops_per_second > kMaxShare * saving * *rated.flops_per_second)
    return "it computes " + format_si(run.efficiency->flops_per_second, "FLOP/s") + ", more than " + run.device.name +
           " is rated for, " + format_si(*rated.flops_per_second, "FLOP/s");
  const double watts = run.energy ? run.energy->gpu_average_watts.value_or(0) : 0;
  const double rated_watts = target.device->facts.at("watts").value.value_or(0);
  return rated_watts > 0 && watts > kMaxRatedWatts * rated_watts
             ? "it draws " + format_si(watts, "W") + ", more than " + run.device.name + " is rated for, " +
                   format_si(rated_watts, "W")
             : "";
}

std::string energy(const Run& run, const CheckedResult&) {
  if (!run.energy || !run.timing) return "";
  const auto per_epoch = [&](const char* key, const std::optional<double>& joules, const std::optional<double>& watts) {
    return unless_equal(key, joules, "average power × epoch time", times(watts, run.timing->epoch_seconds));
  };
  for (const std::string& text :
       {per_epoch("joules_per_epoch", run.energy->joules_per_epoch, run.energy->average_watts),
        per_epoch("the CPU's joules per epoch", run.energy->cpu_joules_per_epoch, run.energy->cpu_average_watts),
        per_epoch("the GPU's joules per epoch", run.energy->gpu_joules_per_epoch, run.energy->gpu_average_watts)})
    if (!text.empty()) return text;
  return "";
}

std::string cost(const Run& run, const CheckedResult&) {
  if (!run.cost || !run.timing) return "";
  const Cost& cost = *run.cost;
  if (cost.usd_per_epoch && !cost.usd_per_hour) return "usd_per_epoch has no usd_per_hour that it follows from";
  if (cost.usd_per_hour && !cost.price_source) return "usd_per_hour has no price_source";
  const auto of = [&](double seconds) { return times(cost.usd_per_hour, seconds / kSecondsPerHour); };
  const std::string text =
      unless_equal("usd_per_epoch", cost.usd_per_epoch, "the price × epoch time", of(run.timing->epoch_seconds));
  return text.empty() ? unless_equal("usd_total", cost.usd_total, "the price × wall_seconds", of(run.timing->wall_seconds))
                      : text;
}

// A price of the day that the source names; prices of other days have changed.
std::string price(const Run& run, const CheckedResult& checked) {
  if (!run.cost || !run.cost->usd_per_hour || !run.cost->price_source || !in_usd(*run.cost)) return "";
  const std::string& source = *run.cost->price_source;
  const CatalogPrice* known = described_price(checked.facts.prices, source);
  if (!known || source.find(known->as_of) == std::string::npos) return "";
  const double whole = known->usd_per_hour, stated = *run.cost->usd_per_hour;
  return agree(stated * whole_over_share(source).value_or(1), whole)
             ? ""
             : is_but("usd_per_hour", stated, "the price of " + known->instance + " that it names", whole);
}

std::string memory(const Run& run, const CheckedResult&) {
  if (!run.memory || !run.memory->peak_bytes || run.ranks) return "";
  const auto peak = static_cast<double>(*run.memory->peak_bytes);
  const double planned = static_cast<double>(run.memory->planned_bytes.value_or(0));
  if (peak < kMinTouched * planned)
    return "peak_bytes is " + format_bytes(peak) + ", less than was planned, " + format_bytes(planned);
  const double bytes_per_parameter = run.workload.mode == Mode::train ? 4 : 1;
  return peak < bytes_per_parameter * static_cast<double>(run.workload.parameters)
             ? "peak_bytes is " + format_bytes(peak) + ", less than the parameters take"
             : "";
}

std::string quality(const Run& run, const CheckedResult&) {
  if (!run.quality) return "";
  const Quality& quality = *run.quality;
  if (!quality.loss.empty() && quality.loss_left_out.value_or(0) == 0)
    if (const std::string text = unless_equal("final_loss", quality.final_loss, "the last loss", quality.loss.back());
        !text.empty())
      return text;
  if (quality.eval_history.empty()) return "";
  return unless_equal("eval_value", quality.eval_value, "the last of eval_history", quality.eval_history.back());
}

std::string latency(const Run& run, const CheckedResult&) {
  if (!run.latency || run.latency->step_seconds.empty() || run.latency->step_seconds_left_out.value_or(0) > 0) return "";
  const std::vector<double>& seconds = run.latency->step_seconds;
  const std::string text = unless_equal("latency p50", run.latency->p50_seconds, "the median of its steps", median(seconds));
  return text.empty()
             ? unless_equal("latency worst", run.latency->worst_seconds, "the longest of its steps", std::ranges::max(seconds))
             : text;
}

std::string settings(const Run& run, const CheckedResult&) {
  const auto differs = [](const Settings& settings, const char* key, const std::string& own) {
    return setting_text(settings, key, own) != own;
  };
  const Settings named = settings_from_name(run.name);
  for (const Settings& stated : {run.settings, named.contains("batch") ? named : Settings{}}) {
    if (differs(stated, "precision", name(run.precision)))
      return std::string("precision is ") + name(run.precision) + ", but its name or settings say " +
             to_text(stated.at("precision"));
    if (differs(stated, "batch", std::to_string(run.workload.batch)))
      return "batch is " + std::to_string(run.workload.batch) + ", but its name or settings say " + to_text(stated.at("batch"));
  }
  return "";
}

std::string model(const Run& run, const CheckedResult& checked) {
  return checked.facts.model_contradiction ? checked.facts.model_contradiction(run) : "";
}

constexpr RunIdentity kRunIdentities[] = {
    // The total time is the sum of the steps.
    {"steps_total_seconds", total},
    // The median step is that of the steps.
    {"step_seconds_median", median_step},
    // The wall time includes the steps.
    {"wall_seconds", wall},
    // Samples/s is batch × steps / total time.
    {kThroughput.key, rate},
    // Tokens/s is samples/s × tokens per sample.
    {"tokens_per_second", tokens},
    // An epoch takes samples per epoch / samples/s.
    {"epoch_seconds", epoch},
    // A measured epoch was trained, on data that has epochs.
    {"epoch_kind", epoch_kind},
    // FLOP/s is FLOPs per sample × samples/s.
    {"flops_per_second", arithmetic},
    // The share is FLOP/s over the measured peak, and not above it.
    {"peak_fraction", share},
    // A GPU is in the file, has the precision, and is neither faster nor hungrier than rated.
    {"device", card},
    // Energy per epoch is average power × epoch time.
    {"joules_per_epoch", energy},
    // Cost is price × time, and a price has a source.
    {"usd_per_epoch", cost},
    // A price that names the catalog is the catalog's, or a share of it.
    {"usd_per_hour", price},
    // Memory is at least what was planned, and what the parameters take.
    {"peak_bytes", memory},
    // The last loss and the last evaluation are those of the series.
    {"final_loss", quality},
    // Latencies are those of the series.
    {"latency", latency},
    // Name, settings, precision and batch agree.
    {"settings", settings},
    // Parameters and FLOPs are those of the model.
    {"model", model},
};

}  // namespace

std::span<const RunIdentity> run_identities() { return kRunIdentities; }

}  // namespace epochbench
