// A run's profile for people.
#pragma once

#include <string>

#include "epochbench/result.h"

namespace epochbench {

// Op classes by their time, then the ten slowest nodes, each beside its limit. Precondition: the run has a profile.
std::string profile_text(const Run& run);

}  // namespace epochbench
