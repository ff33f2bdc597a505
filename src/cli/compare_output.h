// What both ways of comparing share: the threshold as people give it, and how the answer is told.
#pragma once

#include "src/analysis/compare/comparison.h"
#include "src/cli/commands.h"

namespace epochbench {

// As a fraction. Errors: CallError.
double comparison_threshold(const CompareOptions& options);

// Prints the answer as text or JSON on stdout, with --github also annotations (beside JSON on stderr, since GitHub's runner
// reads both) and a job summary, appended to the file that GITHUB_STEP_SUMMARY names. Returns the exit code.
int present(Comparison comparison, const CompareOptions& options);

}  // namespace epochbench
