// Claims about a machine: its ceilings, how well input feeds it, from the groups that a run's table shows (input_pipeline.h),
// and how long a suite takes.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "epochbench/precision.h"
#include "src/analysis/claims/claim_kinds.h"
#include "src/analysis/compare/comparison.h"
#include "src/analysis/input/input_pipeline.h"
#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

struct Ceiling {
  std::string machine;
  std::optional<double> value;
  bool counted = false;                 // by the driver, not measured
  std::vector<double> by_process = {};  // of each process that measured it
};

// One number per process that measured it; a single one in older results.
std::vector<double> values_of(const Ceiling& ceiling) {
  std::vector<double> values = ceiling.by_process;
  if (values.empty() && ceiling.value) values = {*ceiling.value};
  std::erase_if(values, [](double value) { return !std::isfinite(value) || value <= 0; });
  return values;
}

// The ceiling of the CPU, or of the first GPU whose name contains `device`; without a machine if there is none.
Ceiling ceiling_of(const Context& context, const std::string& measure, const std::string& device) {
  const auto peak_in_fp32 = [](const auto& measured) { return peak_in(measured.peak_flops_per_second, Precision::fp32); };
  const CpuInfo& cpu = context.cpu;
  const std::string threads = cpu.peak_threads ? ", " + std::to_string(*cpu.peak_threads) + " threads" : "";
  if (measure == "cpu_memory") {
    const auto bytes = cpu.memory_bytes ? std::optional(static_cast<double>(*cpu.memory_bytes)) : std::nullopt;
    return {cpu.model, bytes, true};
  }
  const auto of_processes = [&](const auto& value_of) { return known_values(cpu.peak_processes, value_of); };
  if (measure == "cpu_memory_bandwidth")
    return {cpu.model + threads, cpu.memory_bandwidth_bytes_per_second, false,
            of_processes([](const PeakProcess& process) { return process.memory_bandwidth_bytes_per_second; })};
  if (measure == "cpu_peak_fp32") return {cpu.model + threads, peak_in_fp32(cpu), false, of_processes(peak_in_fp32)};
  for (const GpuInfo& gpu : context.gpus) {
    if (gpu.name.find(device) == std::string::npos) continue;
    if (measure == "gpu_memory_bandwidth") return {gpu.name, gpu.memory_bandwidth_bytes_per_second};
    if (measure == "gpu_peak_fp32") return {gpu.name, peak_in_fp32(gpu)};
    return {gpu.name, static_cast<double>(gpu.memory_bytes), true};
  }
  return {};
}

std::string why_no_ceiling(const ClaimQuantity& quantity, const std::string& machine, bool any_gpu) {
  if (!machine.empty()) return "the peak of " + machine + " was not measured";
  if (!any_gpu) return "no GPU in these results";
  return "no " + quantity.device + " in these results";
}

// The worst-fed row of those that decode while steps run; null if none knows its utilization.
const InputRow* starved_row(const InputGroup& group) {
  const InputRow* worst = nullptr;
  for (const InputRow& row : group.rows)
    if (row.input.cache != Cache::decoded && row.utilization && (!worst || *row.utilization < *worst->utilization))
      worst = &row;
  return worst;
}

bool suits(const InputGroup& group, const RunChoice& choice, BackendKind backend, const std::string& model) {
  const Run& run = *group.first;
  return contains(choice.precisions, run.precision) && run.workload.model == model && run.device.backend == backend &&
         run.workload.mode == choice.mode && group.decode_cost_seconds > 0 && group.decoded && starved_row(group);
}

std::size_t repetitions_of(const InputGroup& group) {
  return std::min(starved_row(group)->rates.size(), group.rows[*group.decoded].rates.size());
}

// The group of the first such model on the first backend that has one; of several groups the one with the most repetitions.
std::optional<InputGroup> group_for(const ClaimQuantity& quantity, const Evidence& evidence) {
  for (const BackendKind backend : quantity.of.backends)
    for (const std::string& model : quantity.models) {
      std::optional<InputGroup> best;
      for (const auto& [path, result] : evidence.results)
        for (InputGroup& group : input_groups(result))
          if (suits(group, quantity.of, backend, model) && (!best || repetitions_of(group) > repetitions_of(*best)))
            best = std::move(group);
      if (best) return best;
    }
  return std::nullopt;
}

// A ceiling, or its ratio over another, from the results that have them.
Numbers peak_numbers(const ClaimQuantity& quantity, const Evidence& evidence) {
  const bool is_ratio = !quantity.over.empty();
  std::string machine, other;
  Numbers numbers{.repeated = "processes that measured this machine's peaks (a run of some minutes has them)",
                  .reached = !is_ratio};
  bool any_gpu = false, is_counted = false;
  for (const auto& [path, result] : evidence.results) {
    any_gpu = any_gpu || !result.context.gpus.empty();
    const Ceiling above = ceiling_of(result.context, quantity.measure, quantity.device),
                  below = is_ratio ? ceiling_of(result.context, quantity.over, quantity.device) : Ceiling{};
    if (machine.empty()) std::tie(machine, other) = std::pair(above.machine, below.machine);
    const std::vector<double> above_values = values_of(above), below_values = values_of(below);
    if (above.machine != machine || below.machine != other || above_values.empty() || below_values.empty() == is_ratio)
      continue;
    is_counted = above.counted;
    numbers.of.insert(numbers.of.end(), above_values.begin(), above_values.end());
    numbers.to.insert(numbers.to.end(), below_values.begin(), below_values.end());
  }
  const std::size_t count = numbers.of.size();
  if (count == 0) return {.missing = why_no_ceiling(quantity, machine, any_gpu)};
  if (is_counted && !is_ratio) return certain(numbers.of.front(), machine + "; as its system counts it");
  numbers.conditions = is_ratio ? machine + " over " + other + "; " + std::to_string(count) + " and " +
                                      std::to_string(numbers.to.size()) + " processes that measured them"
                                : machine + "; the best of several bursts of " + counted(count, "process", "processes");
  return numbers;
}

Numbers input_numbers(const ClaimQuantity& quantity, const Evidence& evidence) {
  const std::optional<InputGroup> group = group_for(quantity, evidence);
  if (!group)
    return {.missing = "needs runs with slow decoding, beside others of decoded data: " +
                       why_missing(evidence, quantity.of, quantity.models.front())};
  const InputRow &starved = *starved_row(*group), &decoded = group->rows[*group->decoded];
  const std::string repetitions = "; " + std::to_string(repetitions_of(*group)) + " repetitions";
  if (quantity.measure == "gain")
    return {.of = decoded.rates, .to = starved.rates, .conditions = decoded.name + ", against " + starved.name + repetitions};
  const InputRow& row = quantity.measure == "decoded" ? decoded : starved;
  return {.of = row.utilizations, .conditions = row.name + repetitions};
}

// The result of this suite whose runs took longest, without the time between them.
Numbers suite_numbers(const ClaimQuantity& quantity, const Evidence& evidence) {
  const NamedResult* longest = nullptr;
  double most_seconds = 0;
  for (const NamedResult& named : evidence.results) {
    double seconds = 0;
    for (const Run& run : named.result.runs)
      if (run.timing) seconds += run.timing->wall_seconds;
    if (suite_of(named.result.context) == quantity.measure && seconds > most_seconds)
      std::tie(longest, most_seconds) = std::pair(&named, seconds);
  }
  if (!longest)
    return {.missing = "none of these results says that it is of the suite " + quantity.measure + " (epochbench run --suite " +
                       quantity.measure + ")"};
  const std::vector<Run>& runs = longest->result.runs;
  const auto left_out = std::ranges::count_if(runs, [](const Run& run) { return run.status != RunStatus::ok; });
  if (left_out > 0)
    return {.missing = std::to_string(left_out) + " of the " + counted(runs.size(), "run", "runs") + " of " + longest->path +
                       " were skipped or failed, so their time is not that of the suite"};
  return certain(most_seconds, longest->path + ", " + counted(runs.size(), "run", "runs") + "; the seconds of its runs");
}

constexpr const char* kPeaks = "cpu_memory cpu_memory_bandwidth cpu_peak_fp32 gpu_memory gpu_memory_bandwidth gpu_peak_fp32";

}  // namespace

ClaimKinds machine_kinds() {
  static constexpr ClaimKind kKinds[] = {
      {.name = "peak", .numbers = peak_numbers, .measures = kPeaks, .over = kPeaks},
      {.name = "feeding",
       .numbers = input_numbers,
       .needs = "models of.backends of.precisions",
       .measures = "starved decoded gain"},
      {.name = "suite", .numbers = suite_numbers, .needs = "measure"},
  };
  return kKinds;
}

}  // namespace epochbench
