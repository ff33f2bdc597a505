// What the cases of a comparison say together, however they were measured.
#include "src/analysis/compare/comparison.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "src/base/lookup.h"

namespace epochbench {

std::string suite_of(const Context& context) {
  constexpr std::string_view kOption = "--suite";
  if (context.suite) return *context.suite;
  const std::vector<std::string> arguments = context.command_line.value_or(std::vector<std::string>{});
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == kOption && i + 1 < arguments.size()) return arguments[i + 1];
    if (arguments[i].starts_with(std::string(kOption) + "=")) return arguments[i].substr(kOption.size() + 1);
  }
  return "";
}

std::string suite_of(const std::vector<NamedResult>& results) {
  for (const auto& [path, result] : results)
    if (std::string suite = suite_of(result.context); !suite.empty()) return suite;
  return "";
}

bool is_allowed(const Comparison& comparison, const std::string& name) { return contains(comparison.allowed, name); }

bool is_judged(const Comparison& comparison, const ComparedCase& compared) {
  const bool decided = compared.step_seconds[1] && compared.decision.finding != Finding::not_compared;
  return decided || !is_allowed(comparison, compared.name);
}

bool fails(const Comparison& comparison, const ComparedCase& compared, const Issue& issue) {
  return fails(issue.code) && !(issue.code == IssueCode::not_ok && is_allowed(comparison, compared.name));
}

std::size_t case_count(const Comparison& comparison) {
  return comparison.cases.size() + comparison.missing.size() + comparison.added.size() + comparison.changed.size() +
         comparison.not_measured.size() + comparison.baseline_not_ok.size();
}

std::size_t not_compared_count(const Comparison& comparison) {
  const auto undecidable = std::ranges::count_if(
      comparison.cases, [](const ComparedCase& each) { return each.decision.finding == Finding::not_compared; });
  return static_cast<std::size_t>(undecidable) + comparison.changed.size() + comparison.not_measured.size() +
         comparison.baseline_not_ok.size();
}

bool shares_no_case(const Comparison& comparison) {
  return !comparison.missing.empty() && !comparison.added.empty() &&
         comparison.missing.size() + comparison.added.size() == case_count(comparison);
}

Finding verdict_of(const Comparison& comparison) {
  std::vector<Finding> findings;
  for (const ComparedCase& each : comparison.cases) {
    if (is_judged(comparison, each)) findings.push_back(each.decision.finding);
    if (std::ranges::any_of(each.issues, [&](const Issue& issue) { return fails(comparison, each, issue); }))
      findings.push_back(Finding::regression);
  }
  const auto add = [&](const std::vector<LeftOutCase>& cases, Finding finding) {
    for (const LeftOutCase& each : cases)
      if (!is_allowed(comparison, each.name)) findings.push_back(finding);
  };
  add(comparison.missing, Finding::regression);
  for (const auto* cases : {&comparison.changed, &comparison.not_measured, &comparison.baseline_not_ok})
    add(*cases, Finding::not_compared);
  return overall(findings);
}

bool is_debug_build(const std::string& build_type) {
  std::string word = build_type;
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return word.empty() || word == "debug";
}

bool has_median_step(const Run& run) {
  const double median = run.timing ? run.timing->step_seconds_median : 0;
  return run.status == RunStatus::ok && std::isfinite(median) && median > 0;
}

}  // namespace epochbench
