// A sweep for people: a table of its points, the curves as a plot, and the answers in sentences.
#pragma once

#include <string>

#include "src/result/result.h"

namespace epochbench {

// Precondition: the result has answers. Ends with a line break. Runs that were skipped are left out.
std::string sweep_text(const Result& result);

}  // namespace epochbench
