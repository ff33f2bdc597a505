// The answer of `compare` for GitHub Actions: annotations, which its runner reads off the output, and a job summary.
#pragma once

#include <string>

#include "src/analysis/compare/comparison.h"

namespace epochbench {

// One line per item: `::error` for what fails, `::warning` for what is inconclusive, changed or of issue, `::notice` for what
// is faster, new or missing by permission. GitHub shows 10 of each kind a step, so of more the tenth says how many there are.
// Format: https://docs.github.com/actions/reference/workflow-commands-for-github-actions
std::string github_annotations(const Comparison& comparison);

// Markdown: a heading with the verdict, the table of cases, and what else there is to say.
std::string github_summary(const Comparison& comparison);

}  // namespace epochbench
