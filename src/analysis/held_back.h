// What a run does without on purpose: parts left out, portable kernels, an input made slow. Such runs show what a part is
// worth; beside a run that has it they would be a baseline that anything beats.
//
// It looks at what was asked for. What just happened to be slow, such as foreign load, is the business of fairness.h.
#pragma once

#include <string>

#include "src/analysis/series.h"

namespace epochbench {

// In words, "without fusion, portable kernels"; "" where nothing is known.
std::string held_back(const Series& series);

// That of the baseline alone, which the contender does not share; "" where the baseline is fair in this respect.
std::string held_back(const Series& baseline, const Series& contender);

}  // namespace epochbench
