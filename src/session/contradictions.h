// Where a result contradicts itself, the catalogs or the models of this build.
#pragma once

#include <vector>

#include "src/analysis/verify/identities.h"
#include "src/result/result.h"

namespace epochbench {

// `result` is as it stands in its file: complete() replaces shares of the peak.
std::vector<Contradiction> find_contradictions(const Result& result);

}  // namespace epochbench
