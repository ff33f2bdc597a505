// How epochbench and its peers compare when their processes took turns: one row per worker of each case, from the runs that
// have `turns`. Turn i of all runs of one group (one repetition) belongs to round i.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/figures/summarize.h"
#include "src/result/result.h"

namespace epochbench {

struct PeerRow {
  std::string model, worker;  // worker: "PyTorch eager"
  Precision precision = Precision::fp32;
  std::int64_t batch = 0;
  std::optional<int> threads;
  std::int64_t groups = 0, rounds = 0;  // of processes, and of all groups; with a good run
  std::optional<double> rate;           // samples/s, over the time of all steps
  std::optional<double> peak_flops_per_second;
  std::optional<double> peak_fraction;                 // by the time of all steps
  std::optional<double> peak_fraction_of_median_step;  // by the median of turns, which other jobs disturb less
  std::optional<GroupEstimate> ratio;                  // the worker's time per step over epochbench's in the same round
  bool loaded = false;                                 // other processes disturbed one of its runs (src/result/load.h)
  std::string message;                                 // why there are no numbers; empty: there are
};

// Seconds per step, one per round. Precondition: the run has turns and timing.
std::vector<double> turn_seconds(const Run& run);

std::vector<PeerRow> peer_rows(const std::vector<Run>& runs);

// For each repetition, the log of the contender's time per step over the baseline's: the median of the rounds of both, which
// other processes disturb alike. Empty unless both sides took turns with each other in all repetitions.
std::vector<double> turn_log_ratios(const Repetitions& baseline, const Repetitions& contender);
// Samples per second of the contender over the baseline's, from these; empty without them.
std::optional<Estimate> turns_ratio(const Repetitions& baseline, const Repetitions& contender);

}  // namespace epochbench
