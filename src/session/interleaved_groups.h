// Cases at which epochbench and its peers take turns: groups of fresh processes of all workers, the resulting runs, and the
// file saved after each group. src/worker/interleaver.h measures a group; src/analysis/compare/peer_ratios.h compares the runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/result/result.h"
#include "src/session/planned_case.h"
#include "src/worker/case_process.h"

namespace epochbench {

struct GroupWorker {
  std::string label;  // "PyTorch eager"
  WorkerCommand command;
  PlannedCase planned;
};

struct GroupsRequest {
  std::vector<std::vector<GroupWorker>> cases;  // the workers of each, epochbench first
  int groups = 5;                               // fewer give no interval
  std::int64_t dropped_rounds = 2;
  std::optional<std::int64_t> rounds;  // timed, per group; empty: as many as take min_time_seconds, and at least kMinRounds
  double min_time_seconds = 12;
  std::uint64_t order_seed = 0;
  double hung_seconds = 1800;  // without an answer and without using the CPU; torch.compile works in other processes
  std::string out;
  bool resume = false, quiet = false;
  std::vector<std::string> command_line;
};

inline constexpr std::int64_t kMinRounds = 6;

struct GroupsMeasurement {
  std::vector<Run> runs;  // of the cases of this request, measured now or earlier
  bool written = false;   // all of it is in the file
  bool failed = false;    // a worker ended neither ok nor skipped
};

// An interrupt ends the running group after its current round, which counts, and leaves out the rest.
// Errors: CallError, FormatError for a file that cannot be resumed, FileError, all before anything is measured.
GroupsMeasurement measure_groups(const GroupsRequest& request);

}  // namespace epochbench
