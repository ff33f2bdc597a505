// Claims that need no run: what a step takes according to its graph, the least that a device of the catalog needs for it, and
// what arithmetic decides. How long a step is expected to take is in claim_expected.cpp.
#include <limits>

#include "src/analysis/claims/claim_kinds.h"
#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/figures/figure.h"

namespace epochbench {
namespace {

constexpr const char* kOverWeights = "weights";  // instead of a size: as a multiple of the weights in fp32

double number_of(const ClaimQuantity& quantity, const PlannedCounts& counts) {
  constexpr double kWeightBytes = 4;
  if (quantity.measure == "flops") return counts.flops;
  return quantity.over == kOverWeights ? counts.bytes / (kWeightBytes * static_cast<double>(counts.parameters)) : counts.bytes;
}

std::string describe(const PlannedStep& step) {
  return step.model + " " + name(step.precision) + ", " + name(step.mode) + ", batch " + std::to_string(step.batch);
}

Numbers planned_numbers(const ClaimQuantity& quantity, const Evidence& evidence) {
  const Plans& plans = evidence.facts.plans;
  const PlannedStep step = step_of(quantity.of, quantity.models.front()),
                    other = quantity.to ? step_of(*quantity.to, quantity.models.front()) : step;
  const auto planned = plans.find(step), beside = plans.find(other);
  if (planned == plans.end() || beside == plans.end())
    return {.missing = "this model was not planned: " + describe(planned == plans.end() ? step : other)};
  for (const auto& each : {planned, beside})
    if (!each->second.reason.empty()) return {.missing = describe(each->first) + ": " + each->second.reason};
  double number = number_of(quantity, planned->second);
  const bool of_device = quantity.measure == "bytes";
  std::string conditions = "by the plan" + (of_device ? " for " + planned->second.device : "") + ": " + describe(step);
  if (quantity.to) {
    number /= number_of(quantity, beside->second);
    conditions += ", over " + describe(other);
  }
  return certain(number, conditions);
}

void add_planned(const ClaimQuantity& quantity, ClaimSteps& steps) {
  for (const std::string& model : quantity.models) {
    steps.planned.insert(step_of(quantity.of, model));
    if (quantity.to) steps.planned.insert(step_of(*quantity.to, model));
  }
}

Numbers weight_numbers(const ClaimQuantity& quantity, const Evidence&) {
  return certain(quantity.parameters * quantity.bytes, "arithmetic: " + short_number(quantity.parameters, 3) +
                                                           " parameters of " + short_number(quantity.bytes, 3) +
                                                           " bytes, and nothing else");
}

Numbers no_numbers(const ClaimQuantity& quantity, const Evidence&) { return {.missing = quantity.reason}; }

ClaimAnswer bounded(const ClaimQuantity& quantity, const Prediction& prediction) {
  const auto batch = static_cast<double>(prediction.work.batch);
  const double seconds = prediction.step->seconds;
  const bool rate = quantity.measure == kThroughput.key;
  const double bound = rate ? batch / seconds : quantity.samples / batch * seconds;
  const std::pair<double, double> interval =
      rate ? std::pair(0.0, bound) : std::pair(bound, std::numeric_limits<double>::infinity());
  ClaimAnswer answer = answered(
      quantity, {bound, interval, ""},
      prediction.name + ", " + prediction.work.model + " " + name(prediction.work.precision) + ", " +
          name(prediction.work.mode) + ", batch " + std::to_string(prediction.work.batch) + ": " +
          (rate ? "no faster than this, by the roofline of each node" : "no less than this, by the roofline of each node"));
  const DeviceCatalog& catalog = embedded_devices();
  for (const CatalogDevice& device : catalog.devices)
    if (device.id == prediction.device)
      for (const auto& [fact, rating] : device.facts)
        if (rating.value && (fact.find("bandwidth") != std::string::npos || fact.find("fl") != std::string::npos))
          cite(answer.sources, source_of(rating));
  return answer;
}

Answers answer_predicted(const ClaimQuantity& quantity, const Evidence& evidence) {
  Answers answers;
  const std::string& model = quantity.models.front();
  for (const std::string& device : quantity.entries) {
    const auto found = evidence.facts.predictions.find({device, step_of(quantity.of, model)});
    const bool known = found != evidence.facts.predictions.end() && found->second.step;
    answers.push_back(known ? bounded(quantity, found->second)
                            : unanswered(quantity, "not predicted: " + model + " on " + device));
    if (quantity.entries.size() > 1) append(answers.back().id, device, "/");
  }
  return answers;
}

}  // namespace

ClaimKinds plan_kinds() {
  static constexpr ClaimKind kKinds[] = {
      {.name = "plan",
       .numbers = planned_numbers,
       .needs = "models of.precisions to.precisions",
       .measures = "bytes flops",
       .over = kOverWeights,
       .by_model = true,
       .evidence = EvidenceClass::planned,
       .add_steps = add_planned},
      {.name = "weights", .numbers = weight_numbers, .needs = "parameters bytes", .evidence = EvidenceClass::planned},
      {.name = "predicted",
       .answers = answer_predicted,
       .needs = "models of.precisions entries",
       .measures =
           +[] {
             return Words{"seconds", kThroughput.key};
           },
       .by_model = true,
       .evidence = EvidenceClass::predicted,
       .check =
           [](const ClaimQuantity& quantity, const JsonFields& fields) {
             if (quantity.measure == "seconds") check_given(fields, "samples");
           },
       .add_steps =
           [](const ClaimQuantity& quantity, ClaimSteps& steps) {
             for (const std::string& model : quantity.models)
               for (const std::string& device : quantity.entries) steps.predicted.insert({device, step_of(quantity.of, model)});
           }},
      {.name = "missing", .numbers = no_numbers, .needs = "reason"},
  };
  return kKinds;
}

}  // namespace epochbench
