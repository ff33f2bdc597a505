// The trainings to a target (--until) among the series of results.
#pragma once

#include "src/analysis/series.h"
#include "src/analysis/time_to_quality.h"

namespace epochbench {

// What stays of a series are runs with one target, its first; the others are in `left_out`.
void leave_out_without_target(AllSeries& all);

// With those that diverged, which have no throughput and so stand in no series.
Trainings trainings_of(const Series& series, const AllSeries& all);

}  // namespace epochbench
