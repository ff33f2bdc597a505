// A pair of `compare --interleave`: two binaries take turns at one case. src/analysis interprets the ratios of several pairs.
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

inline constexpr std::int64_t kRoundsOfAPair = 20;  // timed; each side has one turn in each

// Starts `BINARY case` of both and measures one pair, which the order of `settings` numbers. A side that ends early gets its
// status and the reason; the other continues alone, which shows whether it would have ended as well. If a side lacks memory
// beside the other, each is tried alone: one that still lacks it is out_of_memory; if neither does, both are skipped, with the
// reason and without times. `round` is called after each round, including dropped ones; it may be empty. `interrupted` is
// polled, as in run_case; once true, neither side is ok.
TurnsPair interleave_pair(const CaseSpec& spec, const std::array<WorkerCommand, 2>& binaries,
                          const InterleaverSettings& settings, const std::function<void(std::int64_t done)>& round,
                          const std::function<bool()>& interrupted);

class UnsuitableBinary : public std::runtime_error {  // one line: which, why, what to do
 public:
  using std::runtime_error::runtime_error;
};

struct BinaryIdentity {
  BuildInfo build;
  std::optional<std::string> suite;  // the JSON of its own suite of that name; empty: it has none, or is too old to say
};

// Asks a binary what it is, before anything is measured. Errors: UnsuitableBinary if it cannot be executed, is not an
// epochbench, is older than interleaved runs, speaks another version of the protocol, or does not answer within
// `patience_seconds`; also after an interrupt.
BinaryIdentity identify_binary(const WorkerCommand& binary, const std::string& suite, const std::function<bool()>& interrupted,
                               double patience_seconds = 30);

}  // namespace epochbench
