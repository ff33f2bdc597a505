// From planned cases to the kept result: peaks, a process a case, what follows from its numbers, and the file after each.
//
// What `run` and `sweep` share. It decides neither which cases there are nor in which order, and prints no table.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/result/result.h"
#include "src/session/planned_case.h"
#include "src/session/prices.h"

namespace epochbench {

struct MeasuringRequest {
  std::vector<PlannedCase> cases;  // in the order in which they run
  Prices prices{""};
  std::string out, resume;  // files; without `out` that of `resume`, without both epochbench-<date>-<time>.json
  bool anonymous = false, quiet = false;
  std::optional<double> budget_seconds = {};  // from the call of measure on
  std::vector<std::string> command_line;
  std::vector<std::string> worker = {};        // the command of a peer's worker (scripts/peers); empty: this program
  std::function<void(Result&)> conclude = {};  // what follows from all runs so far, before each save; may be empty
};

struct Measurement {
  Result result;
  std::string path;      // of the file asked for
  bool written = false;  // whether all of the result is in it
};

void identify(Run& run, const PlannedCase& planned);  // name, repetition, workload, precision, settings
// What follows from the throughput of an ok run; peak: of its device, in FLOP/s.
void add_rates(Run& run, const PlannedCase& planned, std::optional<double> peak);

// Measures what is not done yet. An interrupt ends the case that runs and leaves out the rest; the end of the budget likewise,
// but these cases are skipped, with the reason.
// Errors: CallError, FormatError for a result that cannot be resumed, FileError, all before anything is measured.
Measurement measure(const MeasuringRequest& request);

// kExitInterrupted, kExitCallIsWrong where the file is not written, kExitAnswerIsNo where one of the cases ended neither ok
// nor skipped nor in a way that `accepted` has.
int exit_code(const MeasuringRequest& request, const Measurement& measurement, const std::vector<RunStatus>& accepted = {});

// A number of repetitions as `where` ("--repetitions") gave it. Errors: CallError.
int parse_repetitions(const std::string& text, const std::string& where);

}  // namespace epochbench
