#include "src/analysis/fairness.h"

#include <algorithm>
#include <cmath>

#include "src/analysis/case_settings.h"
#include "src/analysis/handicap.h"
#include "src/analysis/parity.h"

namespace epochbench {
namespace {

// The mean of what is known of the repetitions; empty where nothing is.
template <typename Get>
std::optional<double> mean_of(const Series& series, const Get& get) {
  double sum = 0;
  int known = 0;
  for (const Run* run : series.runs)
    if (const std::optional<double> value = get(*run); value && std::isfinite(*value)) {
      sum += *value;
      ++known;
    }
  return known == 0 ? std::nullopt : std::optional(sum / known);
}

template <typename Get>
std::optional<double> worst_of(const Series& series, const Get& get) {
  std::optional<double> worst;
  for (const Run* run : series.runs)
    if (const std::optional<double> value = get(*run); value && std::isfinite(*value))
      worst = std::max(worst.value_or(*value), *value);
  return worst;
}

std::optional<double> peak_fraction(const Run& run) { return run.efficiency ? run.efficiency->peak_fraction : std::nullopt; }
std::optional<double> data_wait(const Run& run) { return run.efficiency ? run.efficiency->data_wait_fraction : std::nullopt; }
std::optional<double> foreign_cores(const Run& run) {
  return run.interference ? run.interference->foreign_cpu_cores : std::nullopt;
}
std::optional<double> throttled_steps(const Run& run) {
  return run.gpu && run.gpu->throttled_steps ? std::optional(static_cast<double>(*run.gpu->throttled_steps)) : std::nullopt;
}
std::optional<double> step_noise(const Run& run) {
  if (!run.timing || !run.timing->step_seconds_ci95 || !(run.timing->step_seconds_median > 0)) return std::nullopt;
  const auto [low, high] = *run.timing->step_seconds_ci95;
  return (high - low) / 2 / run.timing->step_seconds_median;
}

// The relative standard deviation of the repetitions' throughput; empty of fewer than two.
std::optional<double> repetition_noise(const Series& series) {
  const std::vector<double> rates = series.samples_per_second();
  if (rates.size() < 2) return std::nullopt;
  const double scale = *std::max_element(rates.begin(), rates.end());
  double mean = 0, squares = 0;
  for (const double rate : rates) mean += rate / scale / static_cast<double>(rates.size());
  for (const double rate : rates) squares += (rate / scale - mean) * (rate / scale - mean);
  return std::sqrt(squares / static_cast<double>(rates.size() - 1)) / mean;
}

const Context& context_of(const Series& series) { return series.source->result.context; }

bool is_reference(const Series& series) { return series.first().device.backend == "cpu" && series.first().precision == "fp32"; }

// How far its losses are from the CPU's in fp32, as the result recorded it for each repetition. Files that were measured apart
// could not record it, so there the pair's own losses are compared, but not PyTorch's, which begins with other weights. Empty:
// not known.
std::optional<double> loss_difference(const Series& series, const Series& partner) {
  const auto recorded = [](const Run& run) { return run.quality ? run.quality->parity_max_relative_difference : std::nullopt; };
  const bool all = std::all_of(series.runs.begin(), series.runs.end(),
                               [&](const Run* run) { return std::isfinite(recorded(*run).value_or(NAN)); });
  if (all) return worst_of(series, recorded);
  const auto& ours = series.first().quality;
  const auto& theirs = partner.first().quality;
  const bool peers = series.first().device.backend == "pytorch" || partner.first().device.backend == "pytorch";
  const bool comparable = !peers && series.file != partner.file && ours && theirs && !ours->loss.empty() &&
                          !theirs->loss.empty() && !ours->dropout_masks && !theirs->dropout_masks &&
                          series.conditions == partner.conditions &&
                          series.first().workload.fingerprint == partner.first().workload.fingerprint;
  return comparable ? losses_apart(series.first(), partner.first()) : std::nullopt;
}

// The CPU's fp32 run is what others are compared with; of two such runs the contender is. Forward runs have no losses.
void add_parity(std::vector<Warning>& warnings, const Series& series, const Series& partner, bool is_contender) {
  if (series.first().workload.mode == "forward") return;
  if (is_reference(series) && !(is_contender && is_reference(partner))) return;
  const std::optional<double> difference = loss_difference(series, partner);
  const double limit = std::max(parity_bound(series.first().precision), parity_bound(partner.first().precision));
  if (!difference)
    warnings.push_back({WarningCode::parity_unverified, series.first().name});
  else if (*difference > limit)
    warnings.push_back({WarningCode::parity_apart, series.first().name, *difference, limit});
}

bool has(const CpuInfo& cpu, std::initializer_list<const char*> instructions) {
  return std::all_of(instructions.begin(), instructions.end(),
                     [&](const char* wanted) { return std::find(cpu.isa.begin(), cpu.isa.end(), wanted) != cpu.isa.end(); });
}

// The best instruction set that our kernels have for this precision on this CPU; "" where that is the portable one, or unknown.
std::string best_instructions(const CpuInfo& cpu, const std::string& precision) {
  if (precision == "bf16") return has(cpu, {"amx_bf16"}) ? "amx_bf16" : has(cpu, {"avx512_bf16"}) ? "avx512_bf16" : "";
  if (has(cpu, {"avx512f", "avx512dq", "avx512cd", "avx512bw", "avx512vl"})) return "avx512";
  return has(cpu, {"avx2", "fma"}) ? "avx2" : "";
}

void add_kernels(std::vector<Warning>& warnings, const Series& series) {
  const Device& device = series.first().device;
  if (device.backend != "cpu" || !device.isa) return;
  const std::string best = best_instructions(context_of(series).cpu, series.first().precision);
  if (device.isa->find("portable") != std::string::npos)
    warnings.push_back({WarningCode::portable_kernel, series.first().name, 0, 0, *device.isa});
  else if (!best.empty() && device.isa->find(best) == std::string::npos)
    warnings.push_back({WarningCode::unused_instruction, series.first().name, 0, 0, *device.isa, best});
}

void add_threads(std::vector<Warning>& warnings, const Series& series) {
  const auto threads = series.first().device.threads, cores = context_of(series).cpu.cores;
  if (!series.on_gpu() && threads && cores && *threads < *cores)
    warnings.push_back(
        {WarningCode::fewer_threads, series.first().name, static_cast<double>(*threads), static_cast<double>(*cores)});
}

void add_price(std::vector<Warning>& warnings, const Series& series) {
  const auto& cost = series.first().cost;
  // As describe() of cost.h ends.
  if (cost && cost->price_source && cost->price_source->find("not the machine that was measured") != std::string::npos)
    warnings.push_back({WarningCode::price_of_other_machine, series.first().name, 0, 0, *cost->price_source});
}

void add_energy(std::vector<Warning>& warnings, const Series& series) {
  const auto& energy = series.first().energy;
  if (!series.on_gpu() || !energy || !energy->joules_per_epoch) return;
  if (energy->source == "nvml" || energy->source == "rapl")
    warnings.push_back({WarningCode::energy_in_part, series.first().name, 0, 0, energy->source});
}

// What either side may have alone.
void add_of_side(std::vector<Warning>& warnings, const Series& series) {
  const std::string& name = series.first().name;
  const auto above = [&](WarningCode code, const std::optional<double>& value, double limit) {
    if (value && *value > limit) warnings.push_back({code, name, *value, limit});
  };
  add_threads(warnings, series);
  above(WarningCode::data_waits, mean_of(series, data_wait), kFairDataWait);
  add_price(warnings, series);
  above(WarningCode::foreign_load, worst_of(series, foreign_cores), kFairForeignCores);
  add_kernels(warnings, series);
  above(WarningCode::noisy_sample, worst_of(series, step_noise), kFairStepNoise);
  above(WarningCode::noisy_repetitions, repetition_noise(series), kFairRepetitionNoise);
  above(WarningCode::throttled, worst_of(series, throttled_steps), 0);
  add_energy(warnings, series);
}

void add_machines(std::vector<Warning>& warnings, const Series& baseline, const Series& contender) {
  const Context &a = context_of(baseline), &b = context_of(contender);
  if (a.host_name && b.host_name && *a.host_name != *b.host_name)
    warnings.push_back({WarningCode::host_differs, "", 0, 0, *a.host_name, *b.host_name});
  else if (a.cpu.model != b.cpu.model && !a.cpu.model.empty() && !b.cpu.model.empty())
    warnings.push_back({WarningCode::host_differs, "", 0, 0, a.cpu.model, b.cpu.model});
  if (a.epochbench_version != b.epochbench_version)
    warnings.push_back({WarningCode::build_differs, "", 0, 0, a.epochbench_version, b.epochbench_version});
  else if (a.git_sha && b.git_sha && *a.git_sha != *b.git_sha)
    warnings.push_back({WarningCode::build_differs, "", 0, 0, a.git_sha->substr(0, 12), b.git_sha->substr(0, 12)});
}

void add_workloads(std::vector<Warning>& warnings, const Series& baseline, const Series& contender) {
  const Workload &a = baseline.first().workload, &b = contender.first().workload;
  if (baseline.conditions != contender.conditions)
    warnings.push_back(
        {WarningCode::settings_differ, "", 0, 0, settings_text(baseline.conditions), settings_text(contender.conditions)});
  if (a.batch != b.batch)
    warnings.push_back({WarningCode::batch_differs, "", static_cast<double>(a.batch), static_cast<double>(b.batch)});
  // An incomplete last batch is dropped, so epochs of one data set may differ by less than a batch.
  if (std::fabs(static_cast<double>(a.samples_per_epoch) - static_cast<double>(b.samples_per_epoch)) >=
      static_cast<double>(std::max(a.batch, b.batch)))
    warnings.push_back({WarningCode::epoch_samples_differ, "", static_cast<double>(a.samples_per_epoch),
                        static_cast<double>(b.samples_per_epoch)});
}

// What the two sides differ in.
void add_of_pair(std::vector<Warning>& warnings, const Series& baseline, const Series& contender) {
  const Run &a = baseline.first(), &b = contender.first();
  if (a.precision != b.precision) warnings.push_back({WarningCode::precision_differs, "", 0, 0, a.precision, b.precision});
  if (a.timing && b.timing && a.timing->epoch_kind != b.timing->epoch_kind)
    warnings.push_back({WarningCode::epoch_kind_differs, "", 0, 0, a.timing->epoch_kind, b.timing->epoch_kind});
  if (a.cost && b.cost && a.cost->currency.value_or("USD") != b.cost->currency.value_or("USD"))
    warnings.push_back(
        {WarningCode::currency_differs, "", 0, 0, a.cost->currency.value_or("USD"), b.cost->currency.value_or("USD")});
  add_machines(warnings, baseline, contender);
  add_workloads(warnings, baseline, contender);
}

}  // namespace

const char* name(WarningCode code) {
  switch (code) {
    case WarningCode::baseline_below_half_peak:
      return "baseline_below_half_peak";
    case WarningCode::fewer_threads:
      return "fewer_threads";
    case WarningCode::precision_differs:
      return "precision_differs";
    case WarningCode::parity_unverified:
      return "parity_unverified";
    case WarningCode::parity_apart:
      return "parity_apart";
    case WarningCode::epoch_kind_differs:
      return "epoch_kind_differs";
    case WarningCode::data_waits:
      return "data_waits";
    case WarningCode::host_differs:
      return "host_differs";
    case WarningCode::price_of_other_machine:
      return "price_of_other_machine";
    case WarningCode::currency_differs:
      return "currency_differs";
    case WarningCode::foreign_load:
      return "foreign_load";
    case WarningCode::portable_kernel:
      return "portable_kernel";
    case WarningCode::unused_instruction:
      return "unused_instruction";
    case WarningCode::handicap:
      return "held_back";
    case WarningCode::noisy_sample:
      return "noisy_sample";
    case WarningCode::noisy_repetitions:
      return "noisy_repetitions";
    case WarningCode::throttled:
      return "throttled";
    case WarningCode::energy_in_part:
      return "energy_in_part";
    case WarningCode::settings_differ:
      return "settings_differ";
    case WarningCode::epoch_samples_differ:
      return "epoch_samples_differ";
    case WarningCode::build_differs:
      return "build_differs";
    case WarningCode::batch_differs:
      return "batch_differs";
  }
  return "";
}

std::vector<Warning> fairness_warnings(const Series& baseline, const Series& contender) {
  std::vector<Warning> warnings;
  if (const auto fraction = mean_of(baseline, peak_fraction); fraction && *fraction < kFairPeakFraction)
    warnings.push_back({WarningCode::baseline_below_half_peak, baseline.first().name, *fraction, kFairPeakFraction});
  if (const std::string what = handicap_of(baseline); !what.empty())
    warnings.push_back({WarningCode::handicap, baseline.first().name, 0, 0, what});
  add_of_side(warnings, baseline);
  add_of_side(warnings, contender);
  add_parity(warnings, baseline, contender, false);
  add_parity(warnings, contender, baseline, true);
  add_of_pair(warnings, baseline, contender);
  std::stable_sort(warnings.begin(), warnings.end(), [](const Warning& a, const Warning& b) { return a.code < b.code; });
  return warnings;
}

}  // namespace epochbench
