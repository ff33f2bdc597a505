// Claims about numbers of runs: one compared with another, or one alone.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "src/analysis/claims/claim_kinds.h"
#include "src/analysis/parity.h"
#include "src/analysis/precision_quality.h"
#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

// The reason for a missing pair: a side without a run (the GPU is named before the CPU), or sides without a common workload.
std::string why_unpaired(const Evidence& evidence, const ClaimQuantity& quantity, const std::string& model) {
  if (const std::string reason = why_unusable(evidence, quantity, model); !reason.empty()) return reason;
  const bool to_gpu = quantity.to->backends.front() == "cuda";
  for (const RunChoice& side : {to_gpu ? *quantity.to : quantity.of, to_gpu ? quantity.of : *quantity.to})
    if (const std::string& own = model_of(side, model); matching(evidence, side, own, "").empty())
      return why_missing(evidence, side, own);
  if (quantity.least_cores) return "needs a CPU with at least " + std::to_string(*quantity.least_cores) + " cores";
  return "the runs of " + model + " on both sides differ in batch, data, epochs or machine";
}

std::string count_of(std::size_t count, const char* what) { return std::to_string(count) + " " + what; }

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
    if (out.run->status == RunStatus::ok && out.run->device.backend == "reference" && of_work(*out.run) == of_work(run))
      return out.run;
  return nullptr;
}

// One error per seed. Repetitions of a seed give the same losses, so only the first counts.
std::vector<double> errors_by_seed(const Evidence& evidence, const RunChoice& choice, const std::string& model) {
  std::map<std::uint64_t, double> errors;
  for (const Series* series : matching(evidence, choice, model, ""))
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
  if (matching(evidence, choice, model, "").empty()) return why_missing(evidence, choice, model);
  return "no run of " + model + " on the device reference has the first " + std::to_string(kParitySteps) +
         " losses of the same workload and of the same batches: both with --steps, or both with --epochs and one --warmup";
}

// What a precision of the choice costs in quality against fp32 on this backend; of one machine and build, the one with the most
// seeds in common.
std::optional<QualityDifference> quality_difference(const ClaimQuantity& quantity, const Evidence& evidence,
                                                    const std::string& model, const std::string& backend) {
  std::map<std::string, std::vector<const Run*>> by_origin;
  for (const RunChoice& choice : {quantity.of, *quantity.to})
    for (const Series* series : matching(evidence, choice, model, backend))
      by_origin[series->origin].insert(by_origin[series->origin].end(), series->runs.begin(), series->runs.end());
  std::optional<QualityDifference> most;
  for (const auto& [origin, runs] : by_origin)
    for (QualityDifference& difference : precision_quality(runs)) {
      const bool chosen = difference.metric == quantity.measure && contains(quantity.of.precisions, difference.precision);
      if (chosen && (!most || difference.seeds > most->seeds)) most = std::move(difference);
    }
  return most;
}

}  // namespace

Answers answer_ratio(const ClaimQuantity& quantity, const Evidence& evidence) {
  return answers_by_model(quantity, quantity.models.size() > 1, [&](const std::string& model) {
    const std::vector<SeriesPair> found = pairs(evidence, quantity, model);
    if (found.empty()) return unanswered(quantity, why_unpaired(evidence, quantity, model));
    const SeriesPair pair = fastest(found);
    const std::vector<double> of = metrics(*pair.of, quantity.measure), to = metrics(*pair.to, quantity.measure);
    if (of.empty() || to.empty())
      return unanswered(quantity, why_no_metric(of.empty() ? *pair.of : *pair.to, quantity.measure));
    ClaimAnswer answer = answered(quantity, estimate_of_ratio(to, of, quantity.measure), describe(pair));
    answer.warnings = warnings_of(pair);
    // A price says nothing about a ratio without money in it.
    if (quantity.measure != "epochs_per_usd")
      std::erase_if(answer.warnings, [](const Warning& warning) {
        return warning.code == WarningCode::price_of_other_machine || warning.code == WarningCode::currency_differs;
      });
    return answer;
  });
}

// Software compared with hardware: the quotient of two ratios of one model. Its interval spans the ends of both, so it is wider
// than a 95 % interval.
Answers answer_effect(const ClaimQuantity& quantity, const Evidence& evidence) {
  ClaimQuantity hardware = quantity;
  std::tie(hardware.of, hardware.to) = std::pair(quantity.than->first, std::optional(quantity.than->second));
  return answers_by_model(quantity, quantity.models.size() > 1, [&](const std::string& model) {
    std::string conditions;
    std::vector<Estimate> ratios;
    for (const ClaimQuantity* each : {&quantity, static_cast<const ClaimQuantity*>(&hardware)}) {
      const std::vector<SeriesPair> found = pairs(evidence, *each, model);
      if (found.empty()) return unanswered(quantity, why_unpaired(evidence, *each, model));
      const SeriesPair pair = fastest(found);
      ratios.push_back(
          estimate_of_ratio(metrics(*pair.to, quantity.measure), metrics(*pair.of, quantity.measure), quantity.measure));
      append(conditions, describe(pair) + ": " + short_number(ratios.back().value, 3), "; ");
    }
    const auto& [software, other] = std::tie(ratios[0], ratios[1]);
    Estimate estimate{software.value / other.value, {}, software.ci95 ? other.reason : software.reason};
    if (software.ci95 && other.ci95)
      estimate.ci95 = {software.ci95->first / other.ci95->second, software.ci95->second / other.ci95->first};
    return answered(quantity, estimate, conditions);
  });
}

Answers answer_value(const ClaimQuantity& quantity, const Evidence& evidence) {
  return answers_by_model(quantity, quantity.models.size() > 1, [&](const std::string& model) {
    const std::vector<const Series*> found = preferred(evidence, quantity.of, model);
    if (found.empty()) return unanswered(quantity, why_missing(evidence, quantity.of, model));
    const auto knows = [&](const Series* series) { return !metrics(*series, quantity.measure).empty(); };
    const auto known = std::ranges::find_if(found, knows);
    if (known == found.end()) return unanswered(quantity, why_no_metric(*found.front(), quantity.measure));
    const Series& series = **known;
    const std::vector<double> values = metrics(series, quantity.measure);
    return answered(quantity, estimate_of(values, quantity.measure),
                    describe(series) + "; " + count_of(values.size(), "repetitions"));
  });
}

Answers answer_difference(const ClaimQuantity& quantity, const Evidence& evidence) {
  return answers_by_model(quantity, quantity.models.size() > 1, [&](const std::string& model) {
    std::optional<QualityDifference> found;
    for (const std::string& backend : quantity.of.backends)
      if (!found) found = quality_difference(quantity, evidence, model, backend);
    if (!found) return unanswered(quantity, why_unpaired(evidence, quantity, model));
    Estimate estimate = found->difference;
    if (found->seeds < quantity.least_seeds) {
      estimate.ci95.reset();
      estimate.reason =
          "an interval takes " + std::to_string(quantity.least_seeds) + " seeds, and there are " + std::to_string(found->seeds);
    }
    const Run& trained = matching(evidence, quantity.of, model, found->backend).front()->first();
    return answered(quantity, estimate,
                    found->workload + " on " + trained.device.name + ", " + found->precision + " against fp32; " +
                        trained.workload.dataset + ", " + std::to_string(found->seeds) + " seeds, " +
                        std::to_string(found->epochs) + " epochs, the mean of the last five evaluations");
  });
}

Answers answer_error(const ClaimQuantity& quantity, const Evidence& evidence) {
  return answers_by_model(quantity, quantity.models.size() > 1, [&](const std::string& model) {
    const std::vector<double> errors = errors_by_seed(evidence, quantity.of, model);
    if (errors.empty()) return unanswered(quantity, why_no_errors(evidence, quantity.of, model));
    // Errors of seeds differ by orders of magnitude: a near tie in a pooling window is enough.
    ClaimAnswer answer = answered(quantity, geometric_mean_estimate(errors),
                                  "relative, of the first " + count_of(kParitySteps, "losses") + "; geometric mean of " +
                                      count_of(errors.size(), "seeds"));
    answer.verdict = Verdict::not_testable;
    answer.reason = "nothing is claimed of this error alone";
    return answer;
  });
}

Answers answer_error_ratio(const ClaimQuantity& quantity, const Evidence& evidence) {
  return answers_by_model(quantity, quantity.models.size() > 1, [&](const std::string& model) {
    const std::vector<double> of = errors_by_seed(evidence, quantity.of, model),
                              to = errors_by_seed(evidence, *quantity.to, model);
    for (const auto& [errors, choice] : {std::pair(&of, &quantity.of), std::pair(&to, &*quantity.to)})
      if (errors->empty()) return unanswered(quantity, why_no_errors(evidence, *choice, model));
    return answered(quantity, ratio_estimate(to, of),
                    "errors beside the reference of the first " + count_of(kParitySteps, "losses") + "; " +
                        count_of(of.size(), "and ") + count_of(to.size(), "seeds"));
  });
}

}  // namespace epochbench
