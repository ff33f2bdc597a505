// The least time of a run's step: its plan's roofline, with the best peak and bandwidth of its own result.
#pragma once

#include <vector>

#include "src/analysis/predict/roofline.h"
#include "src/case/case_spec.h"
#include "src/result/result.h"

namespace epochbench {

// What one step computes and moves. Errors: as workload_spec() and min_work().
std::vector<NodeDemand> demands_of(const CaseSpec& spec);

// Sets Efficiency::bound_seconds and the rooflines of ok runs that have none, where the result has a peak and a bandwidth, one
// process has the whole batch, and this build makes a model of the same name, parameters and FLOPs.
void add_bounds(Result& result);

}  // namespace epochbench
