#include "src/report/compare/compare_json.h"

#include <array>
#include <utility>

#include "src/report/compare/compare_sentences.h"

namespace epochbench {
namespace {

Json maybe(const auto& value) { return value ? Json(*value) : Json(nullptr); }

Json side_json(const ComparedSide& side) {
  return {{"label", side.label},
          {"git_sha", maybe(side.git_sha)},
          {"git_dirty", maybe(side.git_dirty)},
          {"date", text_or_null(side.date)},
          {"epochbench_version", text_or_null(side.version)},
          {"build_type", text_or_null(side.build_type)},
          {"compiler", text_or_null(side.compiler)}};
}

Json issue_json(const Issue& issue) {
  const bool has_figures = issue.code != IssueCode::not_ok;
  const auto figure = [&](double value) { return has_figures ? Json(value) : Json(nullptr); };
  return {{"code", name(issue.code)},
          {"message", to_string(issue)},
          {"fails", fails(issue.code)},
          {"before", figure(issue.before)},
          {"after", figure(issue.after)},
          {"limit", figure(issue.limit)},
          {"step", issue.step > 0 ? Json(issue.step) : Json(nullptr)}};
}

Json case_json(const Comparison& comparison, const ComparedCase& compared) {
  const Decision& decision = compared.decision;
  Json object = {
      {"name", compared.name},
      {"verdict", name(decision.finding)},
      {"ratio", maybe(decision.ratio)},
      {"ratio_ci95", decision.ratio_ci95 ? Json{decision.ratio_ci95->first, decision.ratio_ci95->second} : Json(nullptr)},
      {"p_value", maybe(decision.p_value)},
      {"note", decision.note},
      {"baseline_step_seconds", maybe(compared.step_seconds[0])},
      {"new_step_seconds", maybe(compared.step_seconds[1])}};
  if (comparison.interleaved) {
    object["pairs"] = compared.processes[1];
  } else {
    object["baseline_repetitions"] = compared.processes[0];
    object["new_repetitions"] = compared.processes[1];
  }
  object["foreign_cpu_cores"] = maybe(compared.foreign_cores);
  object["more"] = maybe(decision.more);
  object["concerns"] = Json::array();
  for (const Issue& issue : compared.issues) object["concerns"].push_back(issue_json(issue));
  return object;
}

}  // namespace

Json compare_json(const Comparison& comparison) {
  Json object = {{"verdict", name(verdict_of(comparison))},
                 {"reason", reason_text(comparison)},
                 {"method", comparison.interleaved ? "interleaved" : "files"},
                 {"threshold", comparison.threshold},
                 {"baseline", side_json(comparison.sides[0])},
                 {"new", side_json(comparison.sides[1])},
                 {"cases", Json::array()}};
  for (const ComparedCase& compared : comparison.cases) object["cases"].push_back(case_json(comparison, compared));
  Json reasons = Json::object();
  const std::array left_out{std::pair("missing", &comparison.missing), std::pair("added", &comparison.added),
                            std::pair("changed", &comparison.changed), std::pair("not_measured", &comparison.not_measured)};
  for (const auto& [key, cases] : left_out) {
    object[key] = Json::array();
    for (const LeftOutCase& each : *cases) {
      object[key].push_back(each.name);
      reasons[each.name] = each.reason;
    }
  }
  object["reasons"] = reasons;
  object["next"] = text_or_null(next_step(comparison).command);
  return object;
}

}  // namespace epochbench
