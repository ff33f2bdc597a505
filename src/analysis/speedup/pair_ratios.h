// What a pair of series says: ratios of throughput, cost and energy, or of the time to a target.
#pragma once

#include "src/analysis/series.h"
#include "src/analysis/speedup/speedup.h"

namespace epochbench {

// Compares samples per second, and cost and energy per epoch.
SpeedupPair speed_pair(const FastestSeries& baseline, const FastestSeries& contender);

// Compares seconds, cost and energy to the target of both. `all` has the trainings that diverged, too.
SpeedupPair quality_pair(const Series& baseline, const Series& contender, const AllSeries& all);

}  // namespace epochbench
