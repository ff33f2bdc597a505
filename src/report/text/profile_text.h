// A run's profile for people.
#pragma once

#include <string>

#include "src/result/result.h"

namespace epochbench {

// Op classes and the total, then the ten nodes with most to gain, each beside its limit and by the time beyond it; by their
// whole time where limits are not known. Precondition: the run has a profile.
std::string profile_text(const Run& run);

}  // namespace epochbench
