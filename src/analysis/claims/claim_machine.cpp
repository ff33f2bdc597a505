// Claims about what a machine has: its ceilings, and the memory that models take of it.
#include <algorithm>
#include <cmath>

#include "src/analysis/claims/claim_kinds.h"
#include "src/base/numbers.h"

namespace epochbench {
namespace {

struct Ceiling {
  std::string machine;
  std::optional<double> value;
  bool counted = false;  // by the driver, not measured
};

std::optional<double> peak_of(const std::map<std::string, std::optional<double>>& peaks, const char* precision) {
  const auto found = peaks.find(precision);
  return found == peaks.end() ? std::nullopt : found->second;
}

// Of the CPU, or of the first GPU whose name has `device` in it; without a machine where there is none.
Ceiling ceiling_of(const Context& context, const ClaimQuantity& quantity) {
  const CpuInfo& cpu = context.cpu;
  const std::string threads = cpu.peak_threads ? ", " + std::to_string(*cpu.peak_threads) + " threads" : "";
  if (quantity.measure == "cpu_memory_bandwidth") return {cpu.model + threads, cpu.memory_bandwidth_bytes_per_second};
  if (quantity.measure == "cpu_peak_fp32") return {cpu.model + threads, peak_of(cpu.peak_flops_per_second, "fp32")};
  for (const GpuInfo& gpu : context.gpus) {
    if (gpu.name.find(quantity.device) == std::string::npos) continue;
    if (quantity.measure == "gpu_memory_bandwidth") return {gpu.name, gpu.memory_bandwidth_bytes_per_second};
    if (quantity.measure == "gpu_peak_fp32") return {gpu.name, peak_of(gpu.peak_flops_per_second, "fp32")};
    return {gpu.name, static_cast<double>(gpu.memory_bytes), true};
  }
  return {};
}

std::string why_no_ceiling(const ClaimQuantity& quantity, const std::string& machine, bool any_gpu) {
  if (!machine.empty()) return "the peak of " + machine + " was not measured";
  if (!any_gpu) return "no GPU in these results";
  return "no " + quantity.device + " in these results";
}

// The series of the least batch, where activations weigh least; on the first backend that has any.
const Series* least_batch(const Evidence& evidence, const ClaimQuantity& quantity, const std::string& model) {
  for (const std::string& backend : quantity.of.backends) {
    const auto found = matching(evidence, quantity.of, model, backend);
    if (found.empty()) continue;
    return *std::min_element(found.begin(), found.end(), [](const Series* a, const Series* b) {
      return a->first().workload.batch < b->first().workload.batch;
    });
  }
  return nullptr;
}

ClaimAnswer memory_answer(const ClaimQuantity& quantity, const std::string& part, const Series& series) {
  constexpr double kWeightBytes = 4;  // fp32, in which every precision keeps its master weights
  std::vector<double> values = metrics(series, quantity.measure);
  const auto parameters = static_cast<double>(series.first().workload.parameters);
  if (values.empty() || parameters <= 0) return unanswered(quantity, part, series.first().name + " has no " + quantity.measure);
  for (double& value : values)
    value *= quantity.parameters > 0 ? quantity.parameters / parameters : 1 / (kWeightBytes * parameters);
  const bool planned = quantity.measure == "planned_bytes";
  const Estimate estimate =
      planned ? exact(values.front()) : arithmetic_mean_estimate(values, kFewestRepetitions, "repetitions");
  std::string conditions = series.first().workload.model + " " + describe(series);
  conditions += planned ? "; by the plan" : "; " + std::to_string(values.size()) + " repetitions";
  return answered(quantity, part, estimate, conditions);
}

}  // namespace

Answers answer_peak(const ClaimQuantity& quantity, const Evidence& evidence) {
  std::string machine;
  std::vector<double> values;
  bool any_gpu = false, counted = false;
  for (const auto& [path, result] : evidence.results) {
    any_gpu = any_gpu || !result.context.gpus.empty();
    const Ceiling ceiling = ceiling_of(result.context, quantity);
    if (machine.empty()) machine = ceiling.machine;
    if (ceiling.machine != machine || !ceiling.value || !std::isfinite(*ceiling.value) || *ceiling.value <= 0) continue;
    values.push_back(*ceiling.value);
    counted = ceiling.counted;
  }
  if (values.empty()) return {unanswered(quantity, "", why_no_ceiling(quantity, machine, any_gpu))};
  if (counted) return {answered(quantity, "", exact(values.front()), machine + "; as the driver counts it")};
  const Estimate estimate =
      arithmetic_mean_estimate(values, kFewestRepetitions, "results of this machine, each with its peaks measured once");
  ClaimAnswer answer = answered(quantity, "", estimate, machine + "; the best of several bursts");
  // What a machine did once it can do: above the claim it stays, whatever another measurement may add.
  if (!estimate.ci95 && quantity.claimed.high && *answer.measured > *quantity.claimed.high) {
    answer.verdict = Verdict::exceeded;
    answer.reason = "reached at least once, and a ceiling is what is reached";
  }
  return {answer};
}

Answers answer_weights(const ClaimQuantity& quantity) {
  return {answered(quantity, "", exact(quantity.parameters * quantity.bytes),
                   "arithmetic: " + short_number(quantity.parameters, 3) + " parameters of " + short_number(quantity.bytes, 3) +
                       " bytes, and nothing else")};
}

Answers answer_memory(const ClaimQuantity& quantity, const Evidence& evidence) {
  Answers answers;
  for (const std::string& model : quantity.models) {
    const Series* series = least_batch(evidence, quantity, model);
    if (series)
      answers.push_back(memory_answer(quantity, quantity.each ? model : "", *series));
    else if (quantity.each)
      answers.push_back(unanswered(quantity, model, why_missing(evidence, quantity.of, model)));
    if (series && !quantity.each) break;
  }
  if (answers.empty()) return {unanswered(quantity, "", why_missing(evidence, quantity.of, quantity.models.back()))};
  return answers;
}

}  // namespace epochbench
