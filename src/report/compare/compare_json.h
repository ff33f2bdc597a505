// The answer of `compare` as JSON.
#pragma once

#include "src/analysis/compare/comparison.h"
#include "src/base/json.h"

namespace epochbench {

// The contract's keys, and: what was compared (`method`, `threshold`, `baseline`, `new`), the reason for the verdict, of each
// case the step times, the processes, the foreign load, `more` (how many more pairs or repetitions would decide; null where
// nothing is open) and `concerns`; `not_measured`; `reasons` by name of what was left out; `next`, a command, null where there
// is nothing to do.
Json compare_json(const Comparison& comparison);

}  // namespace epochbench
