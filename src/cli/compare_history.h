// epochbench compare --history DIR.
#pragma once

#include "src/cli/commands.h"

namespace epochbench {

// Of the *.json in the folder: results, and documents of interleaved turns; others are left out, and stderr says so. Returns
// the exit code, which no change of level turns into a failure. Errors: CallError without any such file, FormatError.
int compare_history(const CompareOptions& options);

}  // namespace epochbench
