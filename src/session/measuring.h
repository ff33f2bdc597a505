// From planned cases to the kept result: peaks, one process per case, what follows from its numbers, and the file saved after
// each.
//
// What `run` and `sweep` share. It decides neither which cases there are nor in which order, and prints no table.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/clock.h"
#include "src/base/numbers.h"
#include "src/result/result.h"
#include "src/session/planned_case.h"
#include "src/session/prices.h"
#include "src/session/time_left.h"

namespace epochbench {

// The time that all cases of a run may take together.
class Budget {
 public:
  // Begins now. Without `seconds` it is never over.
  explicit Budget(std::optional<double> seconds, Clock clock = steady_seconds)
      : seconds_(seconds), clock_(std::move(clock)), start_(clock_()) {}

  bool over() const { return seconds_ && clock_() - start_ >= *seconds_; }

  // Why a case was skipped: "the budget of 1 h was over before this case began". Precondition: there is a budget.
  std::string reason(bool had_begun) const {
    return "the budget of " + format_seconds(*seconds_) + " was over before this case " + (had_begun ? "ended" : "began");
  }

 private:
  std::optional<double> seconds_;
  Clock clock_;
  double start_;
};

struct MeasuringRequest {
  std::vector<PlannedCase> cases;  // in the order in which they run
  PriceOptions prices = {};
  std::string out, resume;             // files; without `out` that of `resume`, without either: epochbench-<date>-<time>.json
                                       // kStandardStream as `out`: the result is printed at the end and kept in no file
  std::vector<std::string> also = {};  // further files, whose suffixes name their formats
  bool overwrite = false;              // an existing `out`, which is refused otherwise
  CaseBlock call = {};                 // options of cases that the call itself gives, as opposed to a suite
  bool allow_skipped = false;          // a device or precision of `call` may be missing
  bool anonymous = false, quiet = false;
  bool dry_run = false;                       // nothing is measured or written (src/cli/dry_run.cpp)
  std::optional<double> budget_seconds = {};  // from the call of measure()
  std::vector<std::string> command_line;
  std::optional<std::string> suite = {};       // as Context has it
  std::vector<std::string> worker = {};        // the command for cases of another framework
  std::function<void(Result&)> conclude = {};  // adds what follows from all runs so far, before each save; may be empty
};

struct Measurement {
  Result result;
  std::string path;      // of the file asked for; empty: none
  bool written = false;  // whether all of the result is in it, if there is one
  bool also_written = true;
};

// How long these cases take, by the peaks of `context`, or those of usual devices if it is nullptr.
TimeLeft expected_times(const std::vector<PlannedCase>& cases, std::optional<double> budget_seconds, const Context* context);
std::string expected_text(const std::vector<PlannedCase>& cases, const TimeLeft& left);  // "9 runs, expected to take about ..."

// The prices of a request, checked for each of its cases before anything is measured. Errors: CallError.
Prices checked_prices(const MeasuringRequest& request);

// Measures what is not done yet. An interrupt ends the running case and leaves out the rest; so does the end of the budget, but
// those cases are skipped, with the reason.
// Errors: CallError, FormatError for a result that cannot be resumed, FileError, all before anything is measured.
Measurement measure(const MeasuringRequest& request);

// The first that applies: kExitInterrupted; kExitCallIsWrong if the file is not written, or nothing could run in a precision or
// with a number of ranks that the call names; kExitAnswerIsNo if a case ended neither ok nor skipped nor with a status in
// `accepted`; kExitDeviceMissing if a device that the call names is not usable here.
int exit_code(const MeasuringRequest& request, const Measurement& measurement, const std::vector<RunStatus>& accepted = {});

}  // namespace epochbench
