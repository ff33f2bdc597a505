// Claims about numbers of runs: one compared with another, or one alone.
#include <algorithm>
#include <tuple>

#include "src/analysis/claims/claim_kinds.h"
#include "src/base/numbers.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

struct Quotient {
  Estimate estimate = {};
  SeriesPair pair = {};
  std::string missing = {};  // why there is none
};

Quotient best_quotient(const ClaimQuantity& quantity, const Evidence& evidence) {
  const std::vector<SeriesPair> found = pairs(evidence, quantity, quantity.models.front());
  if (found.empty()) return {.missing = why_unpaired(evidence, quantity)};
  Quotient quotient{.pair = fastest(found)};
  const auto& [of, to] = quotient.pair;
  const std::vector<double> above = metrics(*of, quantity.measure), below = metrics(*to, quantity.measure);
  if (above.empty() || below.empty())
    quotient.missing = why_no_metric(above.empty() ? *of : *to, quantity.measure);
  else
    quotient.estimate = estimate_of_ratio(below, above, quantity.measure);
  return quotient;
}

Answers answer_ratio(const ClaimQuantity& quantity, const Evidence& evidence) {
  const Quotient quotient = best_quotient(quantity, evidence);
  if (!quotient.missing.empty()) return {unanswered(quantity, quotient.missing)};
  ClaimAnswer answer = answered(quantity, quotient.estimate, describe(quotient.pair));
  answer.warnings = warnings_of(quotient.pair);
  // A price says nothing about a ratio without money in it.
  if (quantity.measure != "epochs_per_usd")
    std::erase_if(answer.warnings, [](const Warning& warning) {
      return warning.code == WarningCode::price_of_other_machine || warning.code == WarningCode::currency_differs;
    });
  return {answer};
}

// Software compared with hardware: the quotient of two ratios of one model. Its interval spans the ends of both, so it is wider
// than a 95 % interval.
Answers answer_effect(const ClaimQuantity& quantity, const Evidence& evidence) {
  ClaimQuantity hardware = quantity;
  std::tie(hardware.of, hardware.to) = std::pair(quantity.than->of, std::optional(quantity.than->to));
  const Quotient software = best_quotient(quantity, evidence), other = best_quotient(hardware, evidence);
  std::string conditions;
  for (const Quotient& quotient : {software, other}) {
    if (!quotient.missing.empty()) return {unanswered(quantity, quotient.missing)};
    append(conditions, describe(quotient.pair) + ": " + short_number(quotient.estimate.value, 3), "; ");
  }
  const auto &above = software.estimate.ci95, &below = other.estimate.ci95;
  Estimate estimate{software.estimate.value / other.estimate.value, {}, (above ? other : software).estimate.reason};
  if (above && below) estimate.ci95 = {above->first / below->second, above->second / below->first};
  return {answered(quantity, estimate, conditions)};
}

Answers answer_value(const ClaimQuantity& quantity, const Evidence& evidence) {
  const std::vector<const Series*> found = preferred(evidence, quantity.of, quantity.models.front());
  if (found.empty()) return {unanswered(quantity, why_missing(evidence, quantity.of, quantity.models.front()))};
  const auto knows = [&](const Series* series) { return !metrics(*series, quantity.measure).empty(); };
  const auto known = std::ranges::find_if(found, knows);
  if (known == found.end()) return {unanswered(quantity, why_no_metric(*found.front(), quantity.measure))};
  const std::vector<double> values = metrics(**known, quantity.measure);
  return {answered(quantity, estimate_of(values, quantity.measure),
                   describe(**known) + "; " + std::to_string(values.size()) + " repetitions")};
}

// The memory of a step over the bytes of its weights, or times `parameters`: of the first model that was measured, with its
// smallest batch, where activations weigh least.
Answers answer_memory(const ClaimQuantity& quantity, const Evidence& evidence) {
  constexpr double kWeightBytes = 4;  // fp32, in which every precision keeps its master weights
  for (const std::string& model : quantity.models) {
    const std::vector<const Series*> found = preferred(evidence, quantity.of, model);
    if (found.empty()) continue;
    const auto batch = [](const Series* each) { return each->first().workload.batch; };
    const Series& series = **std::ranges::min_element(found, {}, batch);
    std::vector<double> values = metrics(series, quantity.measure);
    const auto parameters = static_cast<double>(series.first().workload.parameters);
    if (values.empty() || parameters <= 0) return {unanswered(quantity, why_no_metric(series, quantity.measure))};
    for (double& value : values)
      value *= quantity.parameters > 0 ? quantity.parameters / parameters : 1 / (kWeightBytes * parameters);
    return {answered(quantity, estimate_of(values, quantity.measure),
                     model + " " + describe(series) + "; " + std::to_string(values.size()) + " repetitions")};
  }
  return {unanswered(quantity, why_missing(evidence, quantity.of, quantity.models.back()))};
}

constexpr const char *kOneSide = "models of.backends to.backends", *kTwoSides = "models of.backends to to.backends";

}  // namespace

ClaimKinds run_kinds() {
  static constexpr ClaimKind kKinds[] = {
      {.name = "ratio", .answers = answer_ratio, .needs = kTwoSides, .measures = metric_names, .by_model = true},
      {.name = "effect",
       .answers = answer_effect,
       .needs = "models of.backends to to.backends than.of.backends than.to.backends",
       .measures = metric_names,
       .by_model = true},
      {.name = "value", .answers = answer_value, .needs = kOneSide, .measures = metric_names, .by_model = true},
      {.name = "memory", .answers = answer_memory, .needs = kOneSide, .measures = metric_names},
  };
  return kKinds;
}

}  // namespace epochbench
