// A result without what identifies its owner: host name, GPU identifiers, paths and the command line.
#pragma once

#include <string>

#include "src/result/result.h"

namespace epochbench {

// Data sets from files keep only their kind ("idx:"), in run names too. The second one of a kind becomes "idx:2", so that names
// stay unique.
Result anonymous(Result result);

Context anonymous(Context context);  // of any document

// Replaces absolute paths in a message by "<path>", except /dev/nvidia..., /proc and /sys, which do not name a user.
std::string without_paths(const std::string& text);

}  // namespace epochbench
