// The page's binaries that took turns: what came of each pair, and the verdict that compare draws of them.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "src/analysis/compare/turns_comparison.h"
#include "src/report/compare/compare_sentences.h"
#include "src/report/html/page_parts.h"

namespace epochbench {
namespace {

Json pair_json(const TurnsPair& pair) {
  const auto ratio = pair.log_ratio ? std::optional(std::exp(*pair.log_ratio)) : std::nullopt;
  return {{"ratio", page_number(ratio)}, {"foreign_cpu_cores", page_number(pair.foreign_cpu_cores)}};
}

Json case_json(const ComparedCase& compared, const TurnsCase& turns) {
  const Decision& decision = compared.decision;
  Json json = {{"name", compared.name},
               {"precision", turns.precision},
               {"verdict", name(decision.finding)},
               {"ratio", page_number(decision.ratio)},
               {"ratio_ci95", page_interval(decision.ratio_ci95)},
               {"baseline_step_seconds", page_number(compared.step_seconds[kBaseline])},
               {"new_step_seconds", page_number(compared.step_seconds[kNew])},
               {"foreign_cpu_cores", page_number(compared.foreign_cores)},
               {"notes", Json::array()},
               {"pairs", Json::array()}};
  if (!decision.note.empty()) json["notes"].push_back(decision.note);
  for (const Issue& issue : compared.issues) json["notes"].push_back(to_string(issue));
  for (const TurnsPair& pair : turns.pairs) json["pairs"].push_back(pair_json(pair));
  return json;
}

void add_comparison(Json& json, const TurnsDocument& document) {
  const Comparison comparison = compare_turns(document, rule_of(document));
  json["suite"] = std::filesystem::path(document.suite).filename().string();
  json["baseline"] = build_text(comparison.sides[kBaseline]);
  json["new"] = build_text(comparison.sides[kNew]);
  json["threshold"] = page_number(comparison.threshold);
  json["verdict"] = name(verdict_of(comparison));
  json["reason"] = reason_text(comparison);
  json["cases"] = Json::array();
  json["left_out"] = Json::array();
  for (const ComparedCase& compared : comparison.cases) {
    const auto turns = std::find_if(document.cases.begin(), document.cases.end(),
                                    [&](const TurnsCase& each) { return each.name == compared.name; });
    json["cases"].push_back(case_json(compared, *turns));
  }
  for (const auto* cases : {&comparison.changed, &comparison.added, &comparison.not_measured})
    for (const LeftOutCase& each : *cases) json["left_out"].push_back({{"name", each.name}, {"reason", each.reason}});
}

}  // namespace

void add_turns(Json& data, const std::vector<NamedTurns>& turns) {
  for (std::size_t i = 0; i < turns.size(); ++i) add_comparison(data["turns"][i], turns[i].document);
}

}  // namespace epochbench
