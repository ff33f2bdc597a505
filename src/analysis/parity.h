// Do runs of one workload train alike? The first losses of each run against the CPU's fp32 run.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "epochbench/result.h"

namespace epochbench {

inline constexpr std::size_t kParitySteps = 10;

// The largest relative difference over the first kParitySteps losses, or as many as both have; relative to `reference`.
// Precondition: neither is empty.
double max_relative_difference(std::span<const double> losses, std::span<const double> reference);

// The largest relative difference of these losses that rounding explains. In fp32 runs differ by the order of sums alone.
// Elsewhere the unit roundoff u counts: a step moves the loss by less than u, and kParitySteps of them add up to 4 u at most.
double parity_bound(const std::string& precision);

// Sets parity_with and parity_max_relative_difference of every ok training run that has another run to be compared with: the
// CPU fp32 run of its repetition with the same fingerprint, data set, seed, order and samples an epoch, by preference the one
// with the default threads. That run itself, and every other, has none.
void fill_parity(std::vector<Run>& runs);

}  // namespace epochbench
