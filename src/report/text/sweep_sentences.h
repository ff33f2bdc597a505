// The answers of a sweep as sentences, one a line.
#pragma once

#include <string>

#include "src/analysis/sweep/curves.h"
#include "src/result/result.h"

namespace epochbench {

// Names of curves lose `prefix` where they begin with it. Why intervals are missing is said once, at the end.
std::string sweep_sentences(const SweepAnswers& answers, Axis axis, const std::string& prefix);

// A rate in the axis's measure, without a unit where it is samples per second.
std::string rate_text(Axis axis, double rate);

}  // namespace epochbench
