// Two binaries take turns at one case: both processes are alive with their memory warm, and each waits for a word before it
// steps, so that whatever disturbs the machine meets both alike (duet benchmarking: Bulej et al., "Duet benchmarking: improving
// measurement accuracy in the cloud", ICPE 2020). What the ratios of several pairs mean is the business of src/analysis.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include "src/case/case.h"
#include "src/result/turns.h"
#include "src/worker/case_process.h"

namespace epochbench {

struct TurnsSettings {
  std::int64_t rounds = 20;         // timed; each side has one turn in each
  std::int64_t dropped_rounds = 2;  // before them, for what only turns bring about: caches that the other side has filled
  // A turn is one step, or as many as fill this: long beside refilling the caches, short beside interference.
  double turn_seconds = 0.05;
  std::uint64_t order_seed = 0;
  std::uint32_t pair = 0;                      // its number among the pairs of the case, from 0
  std::optional<std::int64_t> steps_per_turn;  // as an earlier pair of the case found it; else found before the timed rounds
  ProcessLimits process;
};

// Starts `BINARY case` of both and takes them through one pair. A side that ends is told with its status and the reason; the
// other one goes on alone, so that it is known whether it would have ended as well. Where a side lacks memory beside the other
// one, each is tried alone: one that lacks it then too is out_of_memory; where neither does, both are skipped, with the reason
// and without times. Idle threads of both sleep at once: spinning they would take the cores from whoever has the turn. `round`
// is told after each round, the dropped ones included; it may be empty. `interrupted` is polled, as in run_case: then neither
// side is ok.
TurnsPair take_turns(const CaseSpec& spec, const std::array<std::string, 2>& binaries, const TurnsSettings& settings,
                     const std::function<void(std::int64_t done)>& round, const std::function<bool()>& interrupted);

// Who has the first turn of a round, and whose process starts first. Philox, key = order_seed, counter = (round, pair, hash of
// the case's name, RandomStream::turns): the lowest bit of word 0, and in round 0 of word 1. 1 is the new one.
Side first_of_round(std::uint64_t order_seed, const std::string& name, std::uint32_t pair, std::uint32_t round);
Side first_to_start(std::uint64_t order_seed, const std::string& name, std::uint32_t pair);

class UnsuitableBinary : public std::runtime_error {  // one line: which, why, what to do
 public:
  using std::runtime_error::runtime_error;
};

// Asks a binary what it is, before anything is measured. Errors: UnsuitableBinary where it cannot be executed, is no
// epochbench, is one of before turns, speaks another version of the protocol, or does not answer within `patience_seconds`.
// A wish to end, by `interrupted`, is such an error too.
BuildInfo identify_binary(const std::string& binary, const std::function<bool()>& interrupted, double patience_seconds = 30);

}  // namespace epochbench
