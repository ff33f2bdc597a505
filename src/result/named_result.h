// A measurement and the file that it came from, for answers out of several.
#pragma once

#include <string>

#include "src/result/result.h"
#include "src/result/turns.h"

namespace epochbench {

struct NamedResult {
  std::string path;  // as the call named it, or a file of a folder that it named
  Result result;
};

struct NamedTurns {
  std::string path;
  TurnsDocument document;
};

}  // namespace epochbench
