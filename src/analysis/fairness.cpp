#include "src/analysis/fairness.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>

#include "epochbench/precision.h"
#include "src/analysis/case_settings.h"
#include "src/analysis/compare/peer_ratios.h"
#include "src/analysis/cost/cost.h"
#include "src/analysis/library_checks.h"
#include "src/analysis/parity.h"
#include "src/analysis/unusable.h"
#include "src/base/cpu_name.h"
#include "src/base/lookup.h"
#include "src/base/statistics.h"
#include "src/base/text.h"
#include "src/case/choices.h"
#include "src/result/load.h"

namespace epochbench {
namespace {

// Over what is known of the repetitions; empty if nothing is.
template <typename Get>
std::optional<double> mean_over_runs(const Series& series, const Get& get) {
  const std::vector<double> values = known_values(series.runs, get);
  return values.empty() ? std::nullopt : std::optional(mean(values));
}

template <typename Get>
std::optional<double> max_over_runs(const Series& series, const Get& get) {
  const std::vector<double> values = known_values(series.runs, get);
  return values.empty() ? std::nullopt : std::optional(std::ranges::max(values));
}

// The relative standard deviation of the repetitions' throughput; empty for fewer than two.
std::optional<double> repetition_noise(const Series& series) {
  std::vector<double> rates = series.rates();
  if (rates.size() < 2) return std::nullopt;
  const double scale = *std::ranges::max_element(rates);
  for (double& rate : rates) rate /= scale;
  return std::sqrt(variance(rates)) / mean(rates);
}

const Context& context_of(const Series& series) { return series.source->result.context; }

bool is_reference(const Series& series) {
  return series.first().device.backend == BackendKind::cpu && series.first().precision == Precision::fp32;
}

bool has_own_losses(const Run& run) { return run.quality && !run.quality->loss.empty() && !run.quality->dropout_masks; }

// For the first two trainings with the same seed: others begin with other weights.
std::optional<double> losses_apart_by_seed(const Series& series, const Series& partner) {
  for (const Run* ours : series.runs)
    for (const Run* theirs : partner.runs)
      if (ours->workload.seed == theirs->workload.seed && has_own_losses(*ours) && has_own_losses(*theirs))
        return losses_apart(*ours, *theirs);
  return std::nullopt;
}

// How far its losses are from the CPU's in fp32, as the result recorded it for each repetition. The run that others of its file
// are compared with has no such record, so its partner's counts. Files measured separately could not record it, so for them the
// pair's own losses are compared. Empty: not known, as of other frameworks.
std::optional<double> loss_difference(const Series& series, const Series& partner) {
  if (!is_ours(series.first())) return std::nullopt;
  const auto recorded = [](const Run* run) { return member_of(run->quality, &Quality::parity_max_relative_difference); };
  const auto has_record = [&](const Series& one) { return known_values(one.runs, recorded).size() == one.runs.size(); };
  if (has_record(series)) return max_over_runs(series, recorded);
  if (is_reference(series) && is_reference(partner) && series.file == partner.file && has_record(partner))
    return max_over_runs(partner, recorded);
  const bool comparable = is_ours(partner.first()) && series.file != partner.file && series.conditions == partner.conditions &&
                          series.first().workload.fingerprint == partner.first().workload.fingerprint;
  return comparable ? losses_apart_by_seed(series, partner) : std::nullopt;
}

// Others are compared with the CPU's fp32 run; of two such runs the contender is compared. Forward runs have no losses.
void add_parity(std::vector<Warning>& warnings, const Series& series, const Series& partner, bool is_contender) {
  if (series.first().workload.mode == Mode::forward) return;
  if (is_reference(series) && !(is_contender && is_reference(partner))) return;
  const std::optional<double> difference = loss_difference(series, partner);
  const double limit = std::max(parity_bound(series.first().precision), parity_bound(partner.first().precision));
  if (!difference)
    warnings.push_back({WarningCode::parity_unverified, series.name()});
  else if (*difference > limit)
    warnings.push_back({WarningCode::parity_apart, series.name(), *difference, limit});
}

bool has(const CpuInfo& cpu, std::initializer_list<const char*> instructions) {
  return std::ranges::all_of(instructions, [&](const char* wanted) { return contains(cpu.isa, wanted); });
}

// The best instruction set that our kernels have for this precision on this CPU; "" if that is the portable one, or unknown.
std::string best_instructions(const CpuInfo& cpu, Precision precision) {
  if (precision == Precision::bf16)
    return has(cpu, {"amx_bf16"})        ? "amx_bf16"
           : has(cpu, {"avx512_bf16"})   ? "avx512_bf16"
           : has(cpu, {"asimd", "bf16"}) ? "neon_bf16"
                                         : best_instructions(cpu, Precision::fp32);
  if (precision == Precision::int8)
    return has(cpu, {"amx_int8"})      ? "amx_int8"
           : has(cpu, {"avx512_vnni"}) ? "avx512_vnni"
           : has(cpu, {"avx_vnni"})    ? "avx_vnni"
           : has(cpu, {"avx2", "fma"}) ? "avx2"
                                       : "";
  if (has(cpu, {"avx512f", "avx512dq", "avx512cd", "avx512bw", "avx512vl"})) return "avx512";
  return has(cpu, {"avx2", "fma"}) ? "avx2" : has(cpu, {"asimd"}) ? "neon" : "";
}

void add_kernels(std::vector<Warning>& warnings, const Series& series) {
  const Device& device = series.first().device;
  if (device.backend != BackendKind::cpu || !device.isa) return;
  const Context& context = context_of(series);
  const std::string best = best_instructions(context.cpu, series.first().precision);
  const bool unused = !best.empty() && device.isa->find(best) == std::string::npos;
  if (unused && contains(missing_kernels(context), best))
    warnings.push_back({WarningCode::kernels_missing, series.name(), 0, 0, *device.isa, best});
  else if (device.isa->find("portable") != std::string::npos)
    warnings.push_back({WarningCode::portable_kernel, series.name(), 0, 0, *device.isa});
  else if (unused)
    warnings.push_back({WarningCode::unused_instruction, series.name(), 0, 0, *device.isa, best});
}

void add_libraries(std::vector<Warning>& warnings, const Series& series) {
  const Run& run = series.first();
  if (run.device.backend != BackendKind::cpu || series.settings.contains("kernels")) return;
  for (const FasterLibrary& faster : faster_libraries(context_of(series).cpu.model, run))
    warnings.push_back({WarningCode::library_is_faster, series.name(), 0, 0, faster.text, faster.file});
}

void add_threads(std::vector<Warning>& warnings, const Series& series) {
  const auto threads = cpu_threads(series.first()), cores = context_of(series).cpu.cores;
  if (!series.on_gpu() && threads && cores && *threads < *cores)
    warnings.push_back({WarningCode::fewer_threads, series.name(), static_cast<double>(*threads), static_cast<double>(*cores)});
}

void add_price(std::vector<Warning>& warnings, const Series& series) {
  const auto& cost = series.first().cost;
  if (cost && cost->price_source && is_of_other_machine(*cost->price_source))
    warnings.push_back({WarningCode::price_of_other_machine, series.name(), 0, 0, *cost->price_source});
}

void add_energy(std::vector<Warning>& warnings, const Series& series) {
  const auto& energy = series.first().energy;
  if (!series.on_gpu() || !energy || !energy->joules_per_epoch) return;
  if (energy->source == EnergySource::nvml || energy->source == EnergySource::rapl)
    warnings.push_back({WarningCode::energy_in_part, series.name(), 0, 0, name(energy->source)});
}

// Warnings that either side may have alone.
void add_of_side(std::vector<Warning>& warnings, const Series& series, bool shares_load = false) {
  const std::string name = series.name();
  const auto above = [&](WarningCode code, const std::optional<double>& value, double limit) {
    if (value && *value > limit) warnings.push_back({code, name, *value, limit});
  };
  const auto data_wait = [](const Run* run) { return member_of(run->efficiency, &Efficiency::data_wait_fraction); };
  const auto foreign_cores = [](const Run* run) { return member_of(run->interference, &Interference::foreign_cpu_cores); };
  const auto throttled_steps = [](const Run* run) { return member_of(run->gpu, &GpuState::throttled_steps); };
  const std::string reason = why_unusable(series, shares_load);
  if (!reason.empty()) warnings.push_back({WarningCode::unusable, name, 0, 0, reason});
  if (reason.empty()) above(WarningCode::far_from_bound, times_of_bound(series), kFarFromBound);
  add_threads(warnings, series);
  above(WarningCode::data_waits, mean_over_runs(series, data_wait), kFairDataWait);
  add_price(warnings, series);
  above(WarningCode::foreign_load, max_over_runs(series, foreign_cores), kQuietForeignCores);
  add_kernels(warnings, series);
  add_libraries(warnings, series);
  if (const auto& products = series.first().device.products)
    warnings.push_back(
        {WarningCode::widened_products, name, 0, 0, epochbench::name(*products), epochbench::name(series.first().precision)});
  above(WarningCode::noisy_sample, max_over_runs(series, [](const Run* run) { return relative_spread_within_run(*run); }),
        kFairStepNoise);
  above(WarningCode::noisy_repetitions, repetition_noise(series), kFairRepetitionNoise);
  above(WarningCode::throttled, max_over_runs(series, throttled_steps), 0);
  above(WarningCode::blind_choices, max_over_runs(series, [](const Run* run) { return blind_share(*run); }), kFairBlindShare);
  add_energy(warnings, series);
  const auto is_unpinned = [](const Run* run) {
    return run->device.backend == BackendKind::cpu && !run->device.pinned.value_or(true);
  };
  if (std::ranges::any_of(series.runs, is_unpinned)) warnings.push_back({WarningCode::unpinned, name});
}

// What a file says of all its runs, once for both sides.
void add_of_files(std::vector<Warning>& warnings, const Series& baseline, const Series& contender) {
  std::set<std::string> dirty, resumed;
  std::size_t calls = 0;
  for (const NamedResult* source : {baseline.source, contender.source}) {
    const Context& context = source->result.context;
    if (context.git_dirty.value_or(false)) dirty.insert(source->path);
    if (!context.earlier_calls.empty()) resumed.insert(source->path);
    calls = std::max(calls, context.earlier_calls.size() + 1);
  }
  if (!dirty.empty()) warnings.push_back({WarningCode::dirty_build, "", 0, 0, joined(std::vector(dirty.begin(), dirty.end()))});
  if (!resumed.empty())
    warnings.push_back(
        {WarningCode::resumed, "", static_cast<double>(calls), 0, joined(std::vector(resumed.begin(), resumed.end()))});
}

// A card's energy includes its memory; a CPU's does only where RAPL counts it.
void add_memory(std::vector<Warning>& warnings, const Series& baseline, const Series& contender) {
  const auto known = [](const Series& side) { return member_of(side.first().energy, &Energy::joules_per_epoch).has_value(); };
  const auto includes_memory = [](const Series& side) {
    return side.on_gpu() || side.first().energy->cpu_includes_memory.value_or(false);
  };
  if (!known(baseline) || !known(contender) || includes_memory(baseline) == includes_memory(contender)) return;
  warnings.push_back({WarningCode::memory_not_metered, (includes_memory(baseline) ? contender : baseline).name()});
}

// Both CPUs by their names, and if these are equal by what else tells them apart; equal texts if nothing that is known does.
std::pair<std::string, std::string> distinct_names(const CpuInfo& x, const CpuInfo& y) {
  if (x.model.empty() || y.model.empty()) return {};
  if (x.model != y.model) return {x.model, y.model};
  const auto with = [](const CpuInfo& cpu, const std::string& what) { return cpu.model + " with " + what; };
  const auto kib = [](std::int64_t bytes) { return std::to_string(bytes >> 10) + " KiB of "; };
  for (const auto& [cache, title] :
       {std::pair(&CpuInfo::l1d_bytes, "L1 data cache"), std::pair(&CpuInfo::l2_bytes, "L2 cache")})
    if (x.*cache && y.*cache && x.*cache != y.*cache)
      return {with(x, kib(*(x.*cache)) + title), with(y, kib(*(y.*cache)) + title)};
  const auto cores = [](int count) { return counted(static_cast<std::size_t>(count), "core", "cores"); };
  if (x.cores && y.cores && x.cores != y.cores) return {with(x, cores(*x.cores)), with(y, cores(*y.cores))};
  return {x.model, y.model};
}

// Warnings about what the two sides differ in.
void add_of_pair(std::vector<Warning>& warnings, const Series& baseline, const Series& contender) {
  const auto differ = [&](WarningCode code, const std::string& first, const std::string& second) {
    if (first != second) warnings.push_back({code, "", 0, 0, first, second});
    return first != second;
  };
  const Run &a = baseline.first(), &b = contender.first();
  differ(WarningCode::precision_differs, name(a.precision), name(b.precision));
  if (a.timing && b.timing) differ(WarningCode::epoch_kind_differs, name(a.timing->epoch_kind), name(b.timing->epoch_kind));
  if (a.cost && b.cost)
    differ(WarningCode::currency_differs, a.cost->currency.value_or("USD"), b.cost->currency.value_or("USD"));
  add_memory(warnings, baseline, contender);
  differ(WarningCode::settings_differ, settings_text(baseline.conditions), settings_text(contender.conditions));

  const Context &x = context_of(baseline), &y = context_of(contender);
  const bool other_host = x.host_name && y.host_name && differ(WarningCode::host_differs, *x.host_name, *y.host_name);
  const std::pair<std::string, std::string> cpus = distinct_names(x.cpu, y.cpu);
  if (!other_host && differ(WarningCode::host_differs, cpus.first, cpus.second) &&
      match_cpus(cpus.first, cpus.second) == CpuMatch::unknown && x.cpu.model != y.cpu.model)
    warnings.back().value = 1;
  const bool other_version = differ(WarningCode::build_differs, x.version, y.version);
  if (!other_version && x.git_sha && y.git_sha && *x.git_sha != *y.git_sha)
    differ(WarningCode::build_differs, x.git_sha->substr(0, 12), y.git_sha->substr(0, 12));

  const auto apart = [&](WarningCode code, std::int64_t first, std::int64_t second, std::int64_t from) {
    const auto x = static_cast<double>(first), y = static_cast<double>(second);
    if (std::fabs(x - y) >= static_cast<double>(from)) warnings.push_back({code, "", x, y});
  };
  apart(WarningCode::batch_differs, a.workload.batch, b.workload.batch, 1);
  // An incomplete last batch is dropped, so epochs of one data set may differ by less than a batch.
  apart(WarningCode::epoch_samples_differ, a.workload.samples_per_epoch, b.workload.samples_per_epoch,
        std::max(a.workload.batch, b.workload.batch));
}

struct Handicaps {
  std::set<std::string> without;  // parts that were left out
  std::string kernels;            // as --kernels has it; empty: the default
  double decode_cost_seconds = 0;
  bool decodes_in_time = false;  // slowed decoding goes on while steps run
  bool cold = false;             // files come from the disk, though the page cache may hold them
  bool loads_in_step = false;    // no loader thread: steps wait while their batch is made
};

Handicaps handicaps_of(const Series& series) {
  Handicaps handicaps;
  for (const std::string& part : left_out_parts(series.conditions)) handicaps.without.insert(part);
  handicaps.kernels = setting_text(series.conditions, "kernels", handicaps.kernels);
  const auto& input = series.first().input;
  if (!input) return handicaps;
  handicaps.cold = series.conditions.contains("cold");
  handicaps.decode_cost_seconds = input->decode_cost_seconds;
  handicaps.decodes_in_time = input->decode_cost_seconds > 0 && input->cache != Cache::decoded;
  handicaps.loads_in_step = input->loader_threads == 0;
  return handicaps;
}

// The place of a setting of --kernels among them, from the slowest; empty: the default.
std::ptrdiff_t kernel_rank(const std::string& kernels) {
  constexpr std::array<std::string_view, 4> kFromSlowest{name(Kernels::portable), name(Kernels::avx2), "",
                                                         name(Kernels::fastest)};
  return std::ranges::find(kFromSlowest, kernels) - kFromSlowest.begin();
}

std::string beyond(const Handicaps& baseline, const Handicaps& contender) {
  std::string text;
  for (const std::string& part : baseline.without)
    if (!contender.without.contains(part)) append(text, "without " + part);
  const std::string kernels = baseline.kernels.empty() ? name(Kernels::best) : baseline.kernels;
  if (kernel_rank(baseline.kernels) < kernel_rank(contender.kernels)) append(text, kernels + kKernels);
  if (baseline.decode_cost_seconds > contender.decode_cost_seconds)
    append(text, "decoding made slower");
  else if (baseline.decodes_in_time && !contender.decodes_in_time)
    append(text, "slow decoding while steps run");
  if (baseline.cold && !contender.cold) append(text, "files read from the disk");
  if (baseline.loads_in_step && !contender.loads_in_step) append(text, "no loader thread");
  return text;
}

}  // namespace

const char* name(WarningCode code) {
  // In the order of the codes; the name of a handicap is older than its identifier.
  constexpr const char* kNames[] = {"unusable",
                                    "far_from_bound",
                                    "baseline_below_half_peak",
                                    "fewer_threads",
                                    "precision_differs",
                                    "widened_products",
                                    "parity_unverified",
                                    "parity_apart",
                                    "epoch_kind_differs",
                                    "data_waits",
                                    "host_differs",
                                    "price_of_other_machine",
                                    "currency_differs",
                                    "foreign_load",
                                    "portable_kernel",
                                    "unused_instruction",
                                    "kernels_missing",
                                    "held_back",
                                    "noisy_sample",
                                    "noisy_repetitions",
                                    "throttled",
                                    "energy_in_part",
                                    "memory_not_metered",
                                    "settings_differ",
                                    "epoch_samples_differ",
                                    "build_differs",
                                    "batch_differs",
                                    "unpinned",
                                    "dirty_build",
                                    "resumed",
                                    "fastest_in_doubt",
                                    "blind_choices",
                                    "library_is_faster"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(WarningCode::library_is_faster) + 1);
  return kNames[static_cast<std::size_t>(code)];
}

std::vector<std::string> missing_kernels(const Context& context) {
  std::vector<std::string> missing;
  if (!context.cpu_kernels) return missing;
  for (const Precision precision : kCpuPeaks)
    if (const std::string best = best_instructions(context.cpu, precision);
        !best.empty() && !contains(*context.cpu_kernels, best) && !contains(missing, best))
      missing.push_back(best);
  return missing;
}

std::string handicap_of(const Series& series) { return beyond(handicaps_of(series), {}); }

std::string handicap_of(const Series& baseline, const Series& contender) {
  return beyond(handicaps_of(baseline), handicaps_of(contender));
}

std::vector<Warning> doubts_of(const Series& series) {
  std::vector<Warning> warnings;
  add_of_side(warnings, series);
  std::erase_if(warnings, [](const Warning& warning) {
    return warning.code != WarningCode::foreign_load && warning.code != WarningCode::noisy_repetitions &&
           warning.code != WarningCode::throttled && warning.code != WarningCode::blind_choices;
  });
  return warnings;
}

std::vector<Warning> fairness_warnings(const Series& baseline, const Series& contender) {
  std::vector<Warning> warnings;
  const auto peak_fraction = [](const Run* run) { return member_of(run->efficiency, &Efficiency::peak_fraction); };
  if (const auto fraction = mean_over_runs(baseline, peak_fraction); fraction && *fraction < kFairPeakFraction)
    warnings.push_back({WarningCode::baseline_below_half_peak, baseline.name(), *fraction, kFairPeakFraction});
  // What both sides lack: a baseline lacks no more than its contender, unless the pair measures what it lacks.
  const std::string shared = handicap_of(handicap_of(baseline, contender).empty() ? baseline : contender);
  if (!shared.empty()) warnings.push_back({WarningCode::handicap, baseline.name(), 0, 0, shared});
  const bool shares_load = !turn_log_ratios(baseline.runs, contender.runs).empty();
  add_of_side(warnings, baseline, shares_load);
  add_of_side(warnings, contender, shares_load);
  add_parity(warnings, baseline, contender, false);
  add_parity(warnings, contender, baseline, true);
  add_of_pair(warnings, baseline, contender);
  add_of_files(warnings, baseline, contender);
  std::ranges::stable_sort(warnings, {}, &Warning::code);
  return warnings;
}

}  // namespace epochbench
