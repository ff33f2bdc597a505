// A result without what tells whose it is: host name, GPU identifiers, paths and the command line.
#pragma once

#include <string>

#include "src/result/result.h"

namespace epochbench {

// Data sets from files keep their kind alone ("idx:"), in run names too; where a result has several of one kind, the second
// becomes "idx:2", so names stay unique.
Result anonymous(Result result);

Context anonymous(Context context);  // of any document

// Every absolute path in a message becomes "<path>", except /dev/nvidia... and those of /proc and /sys, which name no user.
std::string without_paths(const std::string& text);

}  // namespace epochbench
