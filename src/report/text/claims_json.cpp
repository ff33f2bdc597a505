// The articles' claims and their verdicts, for programs.
#include <algorithm>

#include "src/base/json_fields.h"
#include "src/report/text/answer_text.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

Json quote_json(const Quote& quote, const std::vector<Article>& articles) {
  const auto article = std::ranges::find(articles, quote.article, &Article::file);
  return {{"article", quote.article},
          {"sha256", article == articles.end() ? Json(nullptr) : Json(article->sha256)},
          {"text", quote.text},
          {"reads", text_or_null(quote.reads)}};
}

Json answer_json(const ClaimAnswer& answer) {
  Json json = {{"id", answer.id},
               {"verdict", name(answer.verdict)},
               {"evidence", answer.evidence ? Json(name(*answer.evidence)) : Json(nullptr)},
               {"quantity", answer.quantity},
               {"unit", answer.unit},
               {"claimed", json_of(answer.claimed)},
               {"measured", json_of(answer.measured)},
               {"measured_ci95", json_of(answer.measured_ci95)},
               {"conditions", answer.conditions},
               {"reason", text_or_null(answer.reason)},
               {"warnings", warnings_json(answer.warnings)}};
  if (!answer.alternative.empty()) json["alternative"] = answer.alternative;
  if (!answer.counts) json["counts"] = false;
  if (!answer.sources.empty())
    json["sources"] = json_list(answer.sources, [](const ClaimSource& source) {
      return Json{{"text", source.text}, {"url", text_or_null(source.url)}};
    });
  if (!answer.parts.empty()) json["parts"] = json_list(answer.parts, answer_json);
  return json;
}

}  // namespace

Json claim_json(const Claim& claim, const std::vector<Article>& articles) {
  const auto quoted = [&](const Quote& quote) { return quote_json(quote, articles); };
  Json quantities = Json::array();
  for (const ClaimQuantity& quantity : claim.quantities)
    quantities.push_back({{"id", quantity.id},
                          {"quantity", quantity.quantity},
                          {"unit", quantity.unit},
                          {"claimed", json_of(quantity.claimed)},
                          {"models", quantity.models}});
  return {{"id", claim.id},
          {"text", claim.text},
          {"quotes", json_list(claim.quotes, quoted)},
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
    json.update(claim_json(catalog.claims[i], catalog.articles));
    json.erase("quantities");
    json["verdicts"] = Json::object();  // by class of evidence
    for (const auto& [evidence, verdict] : answers[i].verdicts) json["verdicts"][name(evidence)] = name(verdict);
    document["claims"].push_back(std::move(json));
  }
  for (const ClaimConflict& conflict : catalog.conflicts)
    document["conflicts"].push_back({{"claims", conflict.claims}, {"why", conflict.why}});
  return document;
}

}  // namespace epochbench
