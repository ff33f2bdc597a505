// Which pairs answer a question in one line, and which of them leads. Every output that does not show all pairs asks here.
#pragma once

#include <string>
#include <vector>

#include "epochbench/precision.h"
#include "src/analysis/speedup/speedup.h"

namespace epochbench {

bool has_warning(const SpeedupPair& pair, WarningCode code);

// For a model the pair of devices at their best; if there is none, that of two devices or precisions with the largest ratio.
// Null if no pair can carry an answer.
const SpeedupPair* find_headline(const Speedup& speedup, const std::string& model);

// On synthetic data, where the time of a step depends only on the device, or to a target. The pairs of devices at their best,
// as they come, are first; then those of one precision, and of tf32, which stands beside fp32. Pairs of another framework only
// if there are none of this program.
std::vector<const SpeedupPair*> gpu_over_cpu(const Speedup& speedup);

// Likewise, 16 bits over a wider precision on the same device.
std::vector<const SpeedupPair*> narrow_over(const Speedup& speedup, Precision baseline);

}  // namespace epochbench
