// How fast ranks exchange when they do nothing else: what the exchange of a step is compared with.
#pragma once

#include <functional>

#include "epochbench/communicator.h"

namespace epochbench {

// Bytes per second that a rank sends, as Traffic counts them: the median over pieces that begin together; a piece takes as
// long as its slowest rank. The pieces last at least `min_seconds` together, after a first that does not count. Every rank
// makes this call, and `exchange` makes one or more of the communicator's reductions or gathers. Errors: CommunicationError.
double bus_rate(Communicator& ranks, const std::function<void()>& exchange, double min_seconds);

// Likewise, of a sum of `elements` floats over all ranks.
double all_reduce_rate(Communicator& ranks, std::size_t elements, double min_seconds);

}  // namespace epochbench
