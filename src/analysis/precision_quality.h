// What a precision costs in quality: trainings of one workload that differ only in precision, paired by seed.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "src/figures/estimate.h"
#include "src/result/result.h"

namespace epochbench {

// What trainings share that differ only in their seed.
struct TrainingKey {
  std::string workload;  // a label of their settings without precision and seed: "lenet5/cpu/b64"
  BackendKind backend = BackendKind::cpu;
  Precision precision = Precision::fp32;
  EvalMetric metric = EvalMetric::accuracy;
  int epochs = 0;
  auto operator<=>(const TrainingKey&) const = default;
};

struct QualityDifference : TrainingKey {
  const Run* first = nullptr;  // its first run in the other precision
  int seeds = 0;
  double fp32 = 0, other = 0;                    // means over the seeds, in the metric's unit
  Estimate difference;                           // other - fp32, likewise
  std::map<std::uint64_t, double> by_seed = {};  // likewise, of each seed
};

// The mean of differences, one per seed, with its interval.
Estimate difference_over_seeds(const std::map<std::uint64_t, double>& by_seed);

// Every precision other than fp32 that has seeds in common with fp32 on its device, in the order of the runs, which must
// outlive the list. A training's quality is the mean of its last five evaluations (of all, if there are fewer), since single
// ones jump; repetitions of a seed are averaged. The interval is Student's for the differences, one per seed; it is empty for
// fewer than five seeds, and if all differences are the same, which says nothing about their spread. Trainings without an
// evaluation, and those that stopped at a quality (--until), are left out.
std::vector<QualityDifference> precision_quality(std::span<const Run> runs);
std::vector<QualityDifference> precision_quality(const std::vector<const Run*>& runs);

}  // namespace epochbench
