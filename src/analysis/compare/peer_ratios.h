// How epochbench and its peers compare when their processes took turns: one row per worker of each case, from the runs that
// have `turns`. Turn i of all runs of one group (one repetition) belongs to round i.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/figures/estimate.h"
#include "src/result/result.h"

namespace epochbench {

struct PeerRow {
  std::string model, precision, worker;  // worker: "PyTorch eager"
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

}  // namespace epochbench
