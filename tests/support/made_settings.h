// Settings of runs that tests make up by a name.
#pragma once

#include <string>

#include "src/case/run_name.h"
#include "src/result/result.h"

namespace epochbench {

// Names the run, and gives it the settings that the name says, as the reader of a file does.
inline void rename(Run& run, const std::string& name) {
  run.name = name;
  run.settings = settings_from_name(name);
}

}  // namespace epochbench
