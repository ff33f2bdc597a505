// The key `answers` of a sweep's result as JSON, and back.
#pragma once

#include "src/base/json.h"
#include "src/result/result.h"

namespace epochbench {

// crossover is null where no curves cross; no_crossover tells of each pair why.
Json sweep_answers_to_json(const SweepAnswers& answers);
// Errors: FormatError.
SweepAnswers read_sweep_answers(const JsonFields& fields);

}  // namespace epochbench
