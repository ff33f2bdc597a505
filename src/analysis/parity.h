// Do runs of one workload train alike? Compares the first losses of each run with those of the CPU's fp32 run.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/result/result.h"

namespace epochbench {

inline constexpr std::size_t kParitySteps = 10;

// The largest relative difference over the first kParitySteps losses, or as many as both have; relative to `reference`.
// Precondition: neither is empty.
double max_relative_difference(std::span<const double> losses, std::span<const double> reference);

// How many of the first losses of two runs of one workload are of the same batches. Runs of steps take all of theirs from epoch
// 0; runs of whole epochs leave it after the warm-up, so they share only that with runs of steps, or of another warm-up.
std::size_t shared_losses(const Run& a, const Run& b);

// max_relative_difference of the losses that both runs have for the same batches; empty if there are none.
std::optional<double> losses_apart(const Run& run, const Run& reference);

// The largest relative difference of these losses that rounding explains. In fp32 runs differ only by the order of sums.
// Otherwise the unit roundoff u counts: a step moves the loss by less than u, and kParitySteps of them add up to at most 4 u.
double parity_bound(Precision precision);

// Sets parity_with and parity_max_relative_difference of every ok training run that has another run to be compared with: the
// CPU fp32 run of its repetition with the same fingerprint, data set, seed, order and samples per epoch, preferably the one
// with the default threads. That run itself and all others have none, nor does a run that shares no batch with it.
void fill_parity(std::vector<Run>& runs);

}  // namespace epochbench
