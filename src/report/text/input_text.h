// How well their input fed the runs of a result, for people.
#pragma once

#include <string>

#include "src/result/result.h"

namespace epochbench {

// A table a group of runs that differ only in their input, what it comes to, and the article's rule; empty without such.
std::string input_text(const Result& result);

}  // namespace epochbench
