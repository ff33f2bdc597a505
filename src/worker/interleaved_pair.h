// A pair of `compare --interleave`: two binaries take turns at one case. What the ratios of several pairs mean is decided in
// src/analysis.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include "src/case/case_spec.h"
#include "src/result/turns.h"
#include "src/worker/interleaver.h"

namespace epochbench {

struct PairSettings {
  std::int64_t rounds = 20;         // timed; each side has one turn in each
  std::int64_t dropped_rounds = 2;  // before them
  double turn_seconds = 0.05;
  std::uint64_t order_seed = 0;
  std::uint32_t pair = 0;                      // its number among the pairs of the case, from 0
  std::optional<std::int64_t> steps_per_turn;  // as an earlier pair of the case found it
  ProcessLimits process;
};

// Starts `BINARY case` of both and takes them through one pair. A side that ends has its status and the reason; the other one
// goes on alone, which shows whether it would have ended as well. Where a side lacks memory beside the other one, each is tried
// alone: one that lacks it then too is out_of_memory; where neither does, both are skipped, with the reason and without times.
// `round` is called after each round, the dropped ones included; it may be empty. `interrupted` is polled, as in run_case: then
// neither side is ok.
TurnsPair interleave_pair(const CaseSpec& spec, const std::array<WorkerCommand, 2>& binaries, const PairSettings& settings,
                          const std::function<void(std::int64_t done)>& round, const std::function<bool()>& interrupted);

class UnsuitableBinary : public std::runtime_error {  // one line: which, why, what to do
 public:
  using std::runtime_error::runtime_error;
};

// Asks a binary what it is, before anything is measured. Errors: UnsuitableBinary where it cannot be executed, is not an
// epochbench, is older than interleaved runs, speaks another version of the protocol, or does not answer within
// `patience_seconds`; also after an interrupt.
BuildInfo identify_binary(const WorkerCommand& binary, const std::function<bool()>& interrupted, double patience_seconds = 30);

}  // namespace epochbench
