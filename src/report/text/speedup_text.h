// The answer of `speedup` as a table for people and as JSON. Nothing is computed here.
#pragma once

#include <string>

#include "src/analysis/speedup/speedup.h"
#include "src/base/json.h"

namespace epochbench {

// One row per pair, its notes by number below, then what is not paired and why. "" without a pair.
std::string speedup_text(const Speedup& speedup);

// The contract's keys, and: *_reason where a number is null, the interval of cost and energy, repetitions and files of both
// sides, and `batch`: "same" or "best".
Json speedup_json(const Speedup& speedup);

}  // namespace epochbench
