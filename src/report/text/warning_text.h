// What makes a comparison unfair, as sentences.
#pragma once

#include <string>

#include "src/analysis/fairness.h"

namespace epochbench {

// "parity_unverified: the losses of ...": the code, which programs look for and which stays, then a sentence for people.
std::string to_string(const Warning& warning);

}  // namespace epochbench
