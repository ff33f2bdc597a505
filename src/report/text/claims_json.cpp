#include "src/report/text/claims_json.h"

#include <cmath>

#include "src/report/text/warning_text.h"

namespace epochbench {
namespace {

Json bound(const std::optional<double>& value) { return value && std::isfinite(*value) ? Json(*value) : Json(nullptr); }

Json answer_json(const ClaimAnswer& answer) {
  Json json = {{"id", answer.id},
               {"verdict", name(answer.verdict)},
               {"quantity", answer.quantity},
               {"unit", answer.unit},
               {"claimed", {bound(answer.claimed.low), bound(answer.claimed.high)}},
               {"measured", bound(answer.measured)},
               {"measured_ci95", nullptr},
               {"conditions", answer.conditions},
               {"reason", answer.reason.empty() ? Json(nullptr) : Json(answer.reason)}};
  json["warnings"] = Json::array();
  for (const Warning& warning : answer.warnings) json["warnings"].push_back(to_string(warning));
  if (answer.measured_ci95) json["measured_ci95"] = {bound(answer.measured_ci95->first), bound(answer.measured_ci95->second)};
  if (answer.parts.empty()) return json;
  json["parts"] = Json::array();
  for (const ClaimAnswer& part : answer.parts) json["parts"].push_back(answer_json(part));
  return json;
}

}  // namespace

Json claim_json(const Claim& claim) {
  Json quantities = Json::array();
  for (const ClaimQuantity& quantity : claim.quantities)
    quantities.push_back({{"id", quantity.id},
                          {"quantity", quantity.quantity},
                          {"unit", quantity.unit},
                          {"claimed", {bound(quantity.claimed.low), bound(quantity.claimed.high)}},
                          {"models", quantity.models}});
  return {{"id", claim.id},
          {"text", claim.text},
          {"claim_conditions", claim.conditions},
          {"origin", claim.origin},
          {"experiment", claim.experiment},
          {"verdict_follows", claim.verdict},
          {"quantities", quantities}};
}

Json claims_json(const ClaimCatalog& catalog, std::span<const ClaimAnswer> answers) {
  Json document = {{"claims", Json::array()}, {"conflicts", Json::array()}};
  for (std::size_t i = 0; i < catalog.claims.size(); ++i) {
    Json json = answer_json(answers[i]);
    const Json claim = claim_json(catalog.claims[i]);
    for (const auto& [key, value] : claim.items())
      if (key != "quantities") json[key] = value;
    document["claims"].push_back(std::move(json));
  }
  for (const ClaimConflict& conflict : catalog.conflicts)
    document["conflicts"].push_back({{"claims", conflict.claims}, {"why", conflict.why}});
  return document;
}

}  // namespace epochbench
