// The run of a planned case as a result keeps it: what its process measured, what it was asked for, and what follows from both
// on this machine. It does not say what follows from several runs (complete_result.h).
#pragma once

#include <optional>
#include <string>

#include "src/result/result.h"
#include "src/session/planned_case.h"
#include "src/session/prices.h"

namespace epochbench {

struct DeviceLimits {  // measured; empty: not known
  std::optional<double> flops_per_second, bytes_per_second;
};

// The limits of a case's device in its precision. If the case has ranks, the sum over their GPUs; empty if one of them is not
// in this machine.
DeviceLimits limits_of(const Context& context, const PlannedCase& planned);

// Where a step's time goes, compared to what the machine could do: derives the rest of the profile from the nodes' name, op,
// seconds, FLOPs and bytes. Nodes that move nothing, such as views, are left out. If a node's limit needs a peak that is
// unknown, it stays empty, as does that of its class.
void complete_profile(Profile& profile, const DeviceLimits& limits);

// A run of a case that was not measured, for `finished_run`.
Run skipped_run(const PlannedCase& planned, const std::string& reason);

// Adds name, repetition, workload, precision and settings to what was measured, and to an ok run its rates, the share of the
// device's limits that it reached, and its cost (nullptr: none; also none where no price is known).
Run finished_run(Run measured, const PlannedCase& planned, const DeviceLimits& limits, const Prices* prices);

}  // namespace epochbench
