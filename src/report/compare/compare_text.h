// The answer of `compare` as text for people. Nothing is computed here.
#pragma once

#include <string>

#include "src/analysis/compare/comparison.h"

namespace epochbench {

// Both sides, one row per case in at most 100 columns, then what there is to say of each, what was not compared and why, the
// verdict with its reasons, and what to do next where something is inconclusive.
std::string compare_text(const Comparison& comparison);

}  // namespace epochbench
