// Claims about quality and numerical errors, with one number per seed.
#include <cmath>
#include <map>
#include <tuple>

#include "src/analysis/claims/claim_kinds.h"
#include "src/analysis/parity.h"
#include "src/analysis/precision_quality.h"
#include "src/base/lookup.h"
#include "src/base/statistics.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

// The root mean square of the relative differences of the first losses; empty if too few are of the same batches.
std::optional<double> error_beside(const Run& run, const Run& reference) {
  if (shared_losses(run, reference) < kParitySteps) return std::nullopt;
  const std::vector<double>&losses = run.quality->loss, &exact_losses = reference.quality->loss;
  double squares = 0;
  for (std::size_t i = 0; i < kParitySteps; ++i) {
    const double relative = (losses[i] - exact_losses[i]) / exact_losses[i];
    squares += relative * relative;
  }
  const double error = std::sqrt(squares / static_cast<double>(kParitySteps));
  return std::isfinite(error) ? std::optional(error) : std::nullopt;
}

// The reference's run of a workload; no series has it, since its time says nothing.
const Run* reference_of(const Evidence& evidence, const Run& run) {
  const auto of_work = [](const Run& r) {
    return std::tie(r.precision, r.workload.fingerprint, r.workload.dataset, r.workload.seed);
  };
  for (const LeftOut& out : evidence.all.left_out)
    if (out.run->status == RunStatus::ok && out.run->device.backend == BackendKind::reference &&
        of_work(*out.run) == of_work(run))
      return out.run;
  return nullptr;
}

// One error per seed. Repetitions of a seed give the same losses, so only the first counts.
std::vector<double> errors_by_seed(const Evidence& evidence, const RunChoice& choice, const std::string& model) {
  std::map<std::uint64_t, double> errors;
  for (const Series* series : matching(evidence, choice, model))
    for (const Run* run : series->runs) {
      const Run* reference = errors.contains(run->workload.seed) ? nullptr : reference_of(evidence, *run);
      if (const auto error = reference ? error_beside(*run, *reference) : std::nullopt)
        errors.emplace(run->workload.seed, *error);
    }
  std::vector<double> values;
  for (const auto& [seed, error] : errors) values.push_back(error);
  return values;
}

std::string why_no_errors(const Evidence& evidence, const RunChoice& choice, const std::string& model) {
  if (matching(evidence, choice, model).empty()) return why_missing(evidence, choice, model);
  return "no run of " + model + " on the device reference has the first " + std::to_string(kParitySteps) +
         " losses of the same workload and of the same batches: both with --steps, or both with --epochs and one --warmup";
}

// What a precision of the choice costs in quality against fp32 on this backend: of every machine, build, batch and number of
// epochs in which a seed was trained in both, averaged for each seed.
struct PooledDifference {
  std::map<std::uint64_t, double> by_seed;
  Words workloads;             // "lenet5/cpu/b64, 10 epochs"
  const Run* first = nullptr;  // in the precision of the choice
};
PooledDifference quality_difference(const ClaimQuantity& quantity, const Evidence& evidence, const std::string& model,
                                    BackendKind backend) {
  std::map<std::string, std::vector<const Run*>> by_origin;  // a seed is paired on one machine and build
  for (const RunChoice& choice : {quantity.of, *quantity.to})
    for (const Series* series : matching(evidence, choice, model, backend))
      by_origin[series->origin].insert(by_origin[series->origin].end(), series->runs.begin(), series->runs.end());
  PooledDifference pooled;
  std::map<std::uint64_t, std::vector<double>> differences;
  for (const auto& [origin, runs] : by_origin)
    for (const QualityDifference& one : precision_quality(runs)) {
      if (name(one.metric) != quantity.measure || !contains(quantity.of.precisions, one.precision)) continue;
      for (const auto& [seed, difference] : one.by_seed) differences[seed].push_back(difference);
      const std::string workload = one.workload + ", " + std::to_string(one.epochs) + " epochs";
      if (!contains(pooled.workloads, workload)) pooled.workloads.push_back(workload);
      if (!pooled.first) pooled.first = one.first;
    }
  for (const auto& [seed, values] : differences) pooled.by_seed[seed] = mean(values);
  return pooled;
}

Answers answer_difference(const ClaimQuantity& quantity, const Evidence& evidence) {
  const std::string& model = quantity.models.front();
  PooledDifference found;
  for (const BackendKind backend : quantity.of.backends)
    if (!found.first) found = quality_difference(quantity, evidence, model, backend);
  if (!found.first) return {unanswered(quantity, why_unpaired(evidence, quantity))};
  const std::size_t seeds = found.by_seed.size();
  Estimate estimate = difference_over_seeds(found.by_seed);
  if (seeds < static_cast<std::size_t>(quantity.least_seeds)) {
    estimate.ci95.reset();
    estimate.reason =
        "an interval takes " + std::to_string(quantity.least_seeds) + " seeds, and there are " + std::to_string(seeds);
  }
  const Run& trained = *found.first;
  return {answered(quantity, estimate,
                   joined(found.workloads, "; ") + " on " + trained.device.name + ", " + name(trained.precision) +
                       " against fp32; " + trained.workload.dataset + ", " + std::to_string(seeds) +
                       " seeds, the mean of the last five evaluations" +
                       (found.workloads.size() > 1 ? ", averaged for each seed" : ""))};
}

Numbers error_numbers(const ClaimQuantity& quantity, const Evidence& evidence) {
  const std::string& model = quantity.models.front();
  const std::string losses = "the first " + std::to_string(kParitySteps) + " losses; ";
  Numbers numbers{.of = errors_by_seed(evidence, quantity.of, model), .of_magnitudes = true};
  if (numbers.of.empty()) return {.missing = why_no_errors(evidence, quantity.of, model)};
  // Errors of seeds differ by orders of magnitude: a near tie in a pooling window is enough.
  const std::string seeds = std::to_string(numbers.of.size());
  numbers.conditions = "relative, of " + losses + "geometric mean of " + seeds + " seeds";
  if (!quantity.to) return numbers;
  numbers.to = errors_by_seed(evidence, *quantity.to, model);
  if (numbers.to.empty()) return {.missing = why_no_errors(evidence, *quantity.to, model)};
  numbers.conditions =
      "errors beside the reference of " + losses + seeds + " and " + std::to_string(numbers.to.size()) + " seeds";
  return numbers;
}

}  // namespace

ClaimKinds seed_kinds() {
  static constexpr ClaimKind kKinds[] = {
      {.name = "difference",  // of quality after equally many epochs, `of` minus `to`
       .answers = answer_difference,
       .needs = "models of.backends to to.backends",
       .measures = "accuracy loss",
       .by_model = true},
      {.name = "error",  // of the first losses beside the reference
       .numbers = error_numbers,
       .needs = "models of.backends to.backends",
       .measures = "losses",
       .by_model = true},
  };
  return kKinds;
}

}  // namespace epochbench
