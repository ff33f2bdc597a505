// Which data set an epoch of synthetic data stands for.
#pragma once

#include <optional>
#include <string>

#include "src/result/result.h"

namespace epochbench {

// The data set that the model's family names if the epoch has the size of its training split, up to an incomplete last batch.
// Empty for real data, for another size, and for a model that this build does not have.
std::optional<std::string> nominal_dataset(const Workload& work);

}  // namespace epochbench
