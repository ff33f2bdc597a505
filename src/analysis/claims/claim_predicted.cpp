// Claims by predictions: the least that a device of the catalog needs for a step, which bounds its speed and decides some
// claims. Neither a measurement nor an expectation (claim_expected.cpp).
#include <limits>
#include <set>

#include "src/analysis/claims/claim_kinds.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

PlannedStep step_of(const ClaimQuantity& quantity, const std::string& model) {
  return step_of(quantity.of, model, quantity.of.precisions.front());
}

ClaimAnswer bounded(const ClaimQuantity& quantity, const Prediction& prediction) {
  const auto batch = static_cast<double>(prediction.work.batch);
  const double seconds = prediction.step->seconds;
  const bool rate = quantity.measure == "samples_per_second";
  const double bound = rate ? batch / seconds : quantity.samples / batch * seconds;
  const std::pair<double, double> interval =
      rate ? std::pair(0.0, bound) : std::pair(bound, std::numeric_limits<double>::infinity());
  ClaimAnswer answer = answered(
      quantity, {bound, interval, ""},
      prediction.name + ", " + prediction.work.model + " " + name(prediction.work.precision) + ", " + prediction.work.mode +
          ", batch " + std::to_string(prediction.work.batch) + ": " +
          (rate ? "no faster than this, by the roofline of each node" : "no less than this, by the roofline of each node"));
  const DeviceCatalog& catalog = embedded_devices();
  for (const CatalogDevice& device : catalog.devices)
    if (device.id == prediction.device)
      for (const auto& [fact, rating] : device.facts)
        if (rating.value && (fact.find("bandwidth") != std::string::npos || fact.find("fl") != std::string::npos)) {
          const CatalogSource& source = catalog.sources.at(rating.source);
          const ClaimSource cited{source.title + ", " + source.date, source.url};
          if (std::find(answer.sources.begin(), answer.sources.end(), cited) == answer.sources.end())
            answer.sources.push_back(cited);
        }
  return answer;
}

void add_steps(std::set<PredictedStep>& steps, const RunChoice& choice, const std::string& model,
               const std::vector<std::string>& devices) {
  for (const std::string& precision : choice.precisions)
    for (const std::string& device : devices) steps.insert({device, step_of(choice, model, precision)});
}

}  // namespace

PlannedStep step_of(const RunChoice& choice, const std::string& model, const std::string& precision) {
  return {model_of(choice, model), choice.mode, precision, choice.batch.value_or(1)};
}

std::vector<PredictedStep> predicted_steps(std::span<const Claim> claims) {
  std::set<PredictedStep> steps;
  for (const Claim& claim : claims)
    for (const ClaimQuantity& quantity : claim.quantities)
      for (const std::string& model : quantity.models) {
        if (quantity.kind == QuantityKind::predicted)
          for (const std::string& device : quantity.entries) steps.insert({device, step_of(quantity, model)});
        if (quantity.kind == QuantityKind::expected) {
          add_steps(steps, quantity.of, model, quantity.entries);
          add_steps(steps, *quantity.to, model, quantity.against);
        }
      }
  return {steps.begin(), steps.end()};
}

Answers answer_predicted(const ClaimQuantity& quantity, const Evidence& evidence) {
  Answers answers;
  const bool several = quantity.models.size() * quantity.entries.size() > 1;
  for (const std::string& model : quantity.models)
    for (const std::string& device : quantity.entries) {
      const auto found = evidence.facts.predictions.find({device, step_of(quantity, model)});
      const bool known = found != evidence.facts.predictions.end() && found->second.step;
      answers.push_back(known ? bounded(quantity, found->second)
                              : unanswered(quantity, "not predicted: " + model + " on " + device));
      answers.back().evidence = EvidenceClass::predicted;
      if (several)
        answers.back().id =
            quantity.id + (quantity.id.empty() ? "" : "/") + device + (quantity.models.size() > 1 ? "/" + model : "");
    }
  return answers;
}

}  // namespace epochbench
