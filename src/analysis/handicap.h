// What a run does without on purpose: parts left out, portable kernels, a slowed input. Such runs show what a part is worth;
// beside a run that has it they would be a baseline that anything beats.
//
// It looks at what was asked for. What happened to be slow, such as foreign load, is in fairness.h.
#pragma once

#include <string>

#include "src/analysis/series.h"

namespace epochbench {

// As text, "without fusion, portable kernels"; "" where nothing is known.
std::string handicap_of(const Series& series);

// That of the baseline alone, which the contender does not share; "" where the baseline is fair in this respect.
std::string handicap_of(const Series& baseline, const Series& contender);

}  // namespace epochbench
