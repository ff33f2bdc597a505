// Claims that arithmetic decides: what a step takes according to its graph, without running it.
#include <algorithm>
#include <set>

#include "src/analysis/claims/claim_kinds.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

constexpr const char* kOverWeights = "weights";  // instead of a size: as a multiple of the weights in fp32
constexpr double kWeightBytes = 4;

PlannedStep step_of(const RunChoice& choice, const std::string& model) {
  return step_of(choice, model, choice.precisions.front());
}

double number_of(const ClaimQuantity& quantity, const PlannedCounts& counts) {
  if (quantity.measure == "flops") return counts.flops;
  return quantity.over == kOverWeights ? counts.bytes / (kWeightBytes * static_cast<double>(counts.parameters)) : counts.bytes;
}

std::string describe(const PlannedStep& step) {
  return step.model + " " + step.precision + ", " + step.mode + ", batch " + std::to_string(step.batch);
}

}  // namespace

std::vector<PlannedStep> planned_steps(std::span<const Claim> claims) {
  std::set<PlannedStep> steps;
  for (const Claim& claim : claims)
    for (const ClaimQuantity& quantity : claim.quantities) {
      const bool of_parameters = quantity.kind == QuantityKind::expected && !quantity.over.empty();
      if (quantity.kind != QuantityKind::plan && !of_parameters) continue;
      for (const std::string& model : quantity.models) {
        steps.insert(step_of(quantity.of, model));
        if (quantity.to && !of_parameters) steps.insert(step_of(*quantity.to, model));
      }
    }
  return {steps.begin(), steps.end()};
}

Answers answer_plan(const ClaimQuantity& quantity, const Evidence& evidence) {
  return answers_by_model(quantity, quantity.models.size() > 1, [&](const std::string& model) {
    const Plans& plans = evidence.facts.plans;
    const PlannedStep step = step_of(quantity.of, model), other = quantity.to ? step_of(*quantity.to, model) : step;
    const auto planned = plans.find(step), beside = plans.find(other);
    if (planned == plans.end() || beside == plans.end())
      return unanswered(quantity, "this model was not planned: " + describe(planned == plans.end() ? step : other));
    for (const auto& each : {planned, beside})
      if (!each->second.reason.empty()) return unanswered(quantity, describe(each->first) + ": " + each->second.reason);
    double number = number_of(quantity, planned->second);
    const bool of_device = quantity.measure == "bytes";
    std::string conditions = "by the plan" + (of_device ? " for " + planned->second.device : "") + ": " + describe(step);
    if (quantity.to) {
      number /= number_of(quantity, beside->second);
      conditions += ", over " + describe(other);
    }
    ClaimAnswer answer = answered(quantity, exact(number), conditions);
    answer.evidence = EvidenceClass::planned;
    return answer;
  });
}

}  // namespace epochbench
