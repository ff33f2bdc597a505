// Claims about numbers of runs: one compared with another, or one alone.
#include <algorithm>
#include <tuple>

#include "src/analysis/claims/claim_kinds.h"
#include "src/base/numbers.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

Numbers ratio_numbers(const ClaimQuantity& quantity, const Evidence& evidence) {
  const std::vector<SeriesPair> found = pairs(evidence, quantity, quantity.models.front());
  if (found.empty()) return {.missing = why_unpaired(evidence, quantity)};
  const FastestPair chosen = fastest(found, quantity.pairing == "best");
  const SeriesPair& pair = chosen.pair;
  Numbers numbers{.of = metrics(chosen.of, quantity.measure),
                  .to = metrics(chosen.to, quantity.measure),
                  .conditions = describe(pair),
                  .repeated = what_repeats(quantity.measure),
                  .error = chosen.error,
                  .warnings = warnings_of(pair)};
  append(numbers.conditions, chosen.doubt, "; ");
  if (numbers.of.empty() || numbers.to.empty())
    numbers.missing = why_no_metric(numbers.of.empty() ? *pair.of : *pair.to, quantity.measure);
  // A price says nothing about a ratio without money in it, nor a meter about one without energy.
  if (!is_per_usd(quantity.measure))
    std::erase_if(numbers.warnings, [](const Warning& warning) {
      return warning.code == WarningCode::price_of_other_machine || warning.code == WarningCode::currency_differs;
    });
  if (quantity.measure != "epochs_per_joule")
    std::erase_if(numbers.warnings, [](const Warning& warning) { return warning.code == WarningCode::memory_not_metered; });
  return numbers;
}

// Software compared with hardware: the quotient of two ratios of one model. Its interval spans the ends of both, so it is wider
// than a 95 % interval.
Answers answer_effect(const ClaimQuantity& quantity, const Evidence& evidence) {
  ClaimQuantity hardware = quantity;
  std::tie(hardware.of, hardware.to) = std::pair(quantity.than->of, std::optional(quantity.than->to));
  std::vector<Estimate> ratios;
  std::string conditions;
  for (const ClaimQuantity& side : {quantity, hardware}) {
    const Numbers numbers = ratio_numbers(side, evidence);
    if (!numbers.missing.empty()) return {unanswered(quantity, numbers.missing)};
    ratios.push_back(estimate(numbers));
    append(conditions, numbers.conditions + ": " + short_number(ratios.back().value, 3), "; ");
  }
  const auto &above = ratios[0].ci95, &below = ratios[1].ci95;
  Estimate effect{ratios[0].value / ratios[1].value, {}, ratios[above ? 1 : 0].reason};
  if (above && below) effect.ci95 = {above->first / below->second, above->second / below->first};
  return {answered(quantity, effect, conditions)};
}

Numbers numbers_of_series(const Series& series, const std::string& measure, const std::string& prefix = "") {
  Numbers numbers{.of = metrics(series, measure), .repeated = what_repeats(measure)};
  if (numbers.of.empty()) numbers.missing = why_no_metric(series, measure);
  numbers.conditions = prefix + describe(series) + "; " + std::to_string(numbers.of.size()) + " repetitions";
  return numbers;
}

Numbers value_numbers(const ClaimQuantity& quantity, const Evidence& evidence) {
  const std::vector<const Series*> found = preferred(evidence, quantity.of, quantity.models.front());
  if (found.empty()) return {.missing = why_missing(evidence, quantity.of, quantity.models.front())};
  const auto knows = [&](const Series* series) { return !metrics(*series, quantity.measure).empty(); };
  const auto known = std::ranges::find_if(found, knows);
  return numbers_of_series(known == found.end() ? *found.front() : **known, quantity.measure);
}

// The memory of a step over the bytes of its weights, or times `parameters`: of the first model that was measured, with its
// smallest batch, where activations weigh least.
Numbers memory_numbers(const ClaimQuantity& quantity, const Evidence& evidence) {
  constexpr double kWeightBytes = 4;  // fp32, in which every precision keeps its master weights
  for (const std::string& model : quantity.models) {
    const std::vector<const Series*> found = preferred(evidence, quantity.of, model);
    if (found.empty()) continue;
    const auto batch = [](const Series* each) { return each->first().workload.batch; };
    const Series& series = **std::ranges::min_element(found, {}, batch);
    Numbers numbers = numbers_of_series(series, quantity.measure, model + " ");
    const auto parameters = static_cast<double>(series.first().workload.parameters);
    if (parameters <= 0) numbers.missing = why_no_metric(series, quantity.measure);
    for (double& value : numbers.of)
      value *= quantity.parameters > 0 ? quantity.parameters / parameters : 1 / (kWeightBytes * parameters);
    return numbers;
  }
  return {.missing = why_missing(evidence, quantity.of, quantity.models.back())};
}

constexpr const char *kOneSide = "models of.backends to.backends", *kTwoSides = "models of.backends to to.backends";

}  // namespace

ClaimKinds run_kinds() {
  static constexpr ClaimKind kKinds[] = {
      {.name = "ratio", .numbers = ratio_numbers, .needs = kTwoSides, .measures = metric_names, .by_model = true},
      {.name = "effect",
       .answers = answer_effect,
       .needs = "models of.backends to to.backends than.of.backends than.to.backends",
       .measures = metric_names,
       .by_model = true},
      {.name = "value", .numbers = value_numbers, .needs = kOneSide, .measures = metric_names, .by_model = true},
      {.name = "memory", .numbers = memory_numbers, .needs = kOneSide, .measures = metric_names},
  };
  return kKinds;
}

}  // namespace epochbench
