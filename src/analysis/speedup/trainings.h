// The trainings to a target (--until) among the series of results.
#pragma once

#include "src/analysis/series.h"
#include "src/analysis/time_to_quality.h"

namespace epochbench {

// Keeps the runs of a series with one target, its first; the others move to `left_out`.
void leave_out_without_target(AllSeries& all);

// Includes those that diverged, which have no throughput and so are in no series.
Trainings trainings_of(const Series& series, const AllSeries& all);

}  // namespace epochbench
