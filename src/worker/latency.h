// Latencies of forward steps: a pure function over plain numbers.
#pragma once

#include <vector>

#include "src/result/result.h"

namespace epochbench {

// Of the seconds of steps taken one at a time. A quantile lies linearly between the two samples beside it, and is empty below
// the number of samples of which one is beyond it: 2, 10 and 100. Errors: std::invalid_argument without samples.
Latency latency_of(std::vector<double> step_seconds);

}  // namespace epochbench
