// Where a result contradicts itself, the catalogs or the models of this build.
#pragma once

#include <vector>

#include "src/analysis/verify/identities.h"
#include "src/result/result.h"

namespace epochbench {

// `result` is as it stands in its file: complete() replaces shares of the peak.
std::vector<Contradiction> find_contradictions(const Result& result);

// A case with a contradiction is in no answer: all its runs get the status contradicts_itself and the reason, since leaving out
// one repetition would change the answer as its deletion does. Returns the reason for each such case; names begin with the
// case.
std::vector<std::string> leave_out_contradictions(Result& result);
// The pairs of such a case are removed, and `skipped` has the reason.
std::vector<std::string> leave_out_contradictions(TurnsDocument& document);

}  // namespace epochbench
