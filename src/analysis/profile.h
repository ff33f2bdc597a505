// What a step's time goes to, beside what the machine could do: sums over op classes and each node's own limit.
#pragma once

#include <optional>

#include "src/result/result.h"

namespace epochbench {

struct DeviceLimits {  // measured; empty: not known
  std::optional<double> flops_per_second, bytes_per_second;
};

// From the nodes' name, op, seconds, FLOPs and bytes to everything else of the profile. Nodes that move nothing, as views,
// are left out. Where a peak that a node's limit needs is not known, the limit stays empty, and that of its class.
void complete_profile(Profile& profile, const DeviceLimits& limits);

}  // namespace epochbench
