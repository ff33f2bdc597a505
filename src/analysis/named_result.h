// A result and the file that it came from, for answers out of several.
#pragma once

#include <string>

#include "epochbench/result.h"

namespace epochbench {

struct NamedResult {
  std::string path;  // as the call named it, or a file of a folder that it named
  Result result;
};

}  // namespace epochbench
