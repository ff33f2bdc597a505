// Runs on one device that differ in one thing only: the parts left out, the kernels, or the number of threads.
#pragma once

#include <vector>

#include "src/analysis/series.h"
#include "src/analysis/speedup/speedup.h"

namespace epochbench {

struct SettingPair {
  const Series* baseline = nullptr;
  const Series* contender = nullptr;
  Compares compares = Compares::parts;
};

// Each case without a part, or with portable kernels, as the baseline of the complete case, which is the baseline of the case
// with the fastest of our kernels and other libraries'; then each number of threads over the fewest. Both sides are of one
// machine and build and do the same work. Points to `all`.
std::vector<SettingPair> setting_pairs(const AllSeries& all);

}  // namespace epochbench
