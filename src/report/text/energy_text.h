// What people read of a result's energy and of the GPU's state.
#pragma once

#include <string>

#include "src/result/result.h"

namespace epochbench {

// "1.23 kJ" an epoch; "GPU 1.23 kJ" where the CPU's part is not known; empty where nothing is.
std::string energy_cell(const Run& run);

// Lines for under the table: why energy is not known, what it holds beside the run, the idle draw, throttled steps. Each ends
// with a line break; empty where there is nothing to say.
std::string energy_remarks(const Result& result);

}  // namespace epochbench
