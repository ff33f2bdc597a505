#include "src/analysis/compare/comparison.h"

#include <algorithm>
#include <cctype>

namespace epochbench {

Finding verdict_of(const Comparison& comparison) {
  const bool fails_beside_time = std::any_of(comparison.cases.begin(), comparison.cases.end(), [](const ComparedCase& each) {
    return std::any_of(each.issues.begin(), each.issues.end(), [](const Issue& issue) { return fails(issue.code); });
  });
  if (fails_beside_time || (!comparison.missing.empty() && !comparison.missing_allowed)) return Finding::regression;
  std::vector<Finding> findings;
  for (const ComparedCase& each : comparison.cases) findings.push_back(each.decision.finding);
  return overall(findings);
}

bool is_debug_build(const std::string& build_type) {
  std::string word = build_type;
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return word.empty() || word == "debug";
}

}  // namespace epochbench
