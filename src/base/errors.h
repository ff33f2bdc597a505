// How a call ends: the exit codes of the contract, and errors that carry one.
#pragma once

#include <stdexcept>
#include <string>

namespace epochbench {

enum ExitCode : int {
  kExitDone = 0,
  kExitAnswerIsNo = 1,     // a case failed, ran out of memory or diverged; a regression
  kExitCallIsWrong = 2,    // the call, a file or the data
  kExitDeviceMissing = 3,  // the device asked for is not usable here
  kExitInconclusive = 4,   // compare: too little evidence to decide
  kExitInterrupted = 130,
};

class CallError : public std::runtime_error {  // one line: what is wrong, where, how to mend it
 public:
  explicit CallError(const std::string& message, int code = kExitCallIsWrong) : std::runtime_error(message), code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
};

// "epochbench: message" on stderr, as one line of fewer than 800 bytes whatever the message quotes from the call or a file.
void print_error(const std::string& message);

}  // namespace epochbench
