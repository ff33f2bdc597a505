// What each part left out by --without or --kernels portable is worth: the complete case against the same case without it.
#pragma once

#include <string>
#include <vector>

#include "src/analysis/estimate.h"
#include "src/analysis/series.h"

namespace epochbench {

struct AblationRatio {
  const Series* complete = nullptr;
  const Series* ablated = nullptr;
  std::string without;  // "without fusion, portable kernels"
  Estimate ratio;       // samples per second, complete over ablated
};

// In the order of the ablated cases; those without a complete case on the same machine are left out. Points to `all`.
std::vector<AblationRatio> ablation_ratios(const AllSeries& all);

}  // namespace epochbench
