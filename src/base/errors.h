// How a call ends: the exit codes of the contract, the errors that end it, and Ctrl-C. Each message is one line that says what
// is wrong, where, and how to fix it.
//
// Others: DataError (epochbench/dataset.h), DeviceError and OutOfMemory (epochbench/backend.h), GraphError
// (epochbench/graph.h).
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace epochbench {

enum ExitCode : int {  // if several apply, the first of 130, 2, 1, 3, 4
  kExitDone = 0,
  kExitAnswerIsNo = 1,     // a case failed, ran out of memory or diverged; a regression
  kExitCallIsWrong = 2,    // the call, a file or the data
  kExitDeviceMissing = 3,  // the device is not usable here
  kExitInconclusive = 4,   // compare: too little evidence to decide
  kExitInterrupted = 130,
};

// What an unknown word should have named. Which devices and precisions there are depends on the machine, so the command line
// adds them to the message (src/cli/known_names.h).
enum class Unknown : std::uint8_t { nothing, device, precision };

// The command that raises the limit that an errno names: " (raise the limit: ulimit -n 1024)"; empty for others.
std::string limit_remedy(int error);
// What the system says of an errno, with that command.
std::string error_text(int error);
// What an exception says. Where a process or a thread could not be started, also how to raise the limit of these.
std::string error_text(const std::exception& error);
// What to add to what another program says of threads that could not be started; empty if it says nothing of them.
std::string thread_limit_remedy(std::string_view said);

class CallError : public std::runtime_error {  // the call is wrong
 public:
  explicit CallError(const std::string& message, int code = kExitCallIsWrong) : std::runtime_error(message), code_(code) {}
  CallError(Unknown unknown, std::string word)
      : std::runtime_error("'" + word + "' is unknown"), code_(kExitCallIsWrong), unknown_(unknown), word_(std::move(word)) {}

  int code() const { return code_; }
  Unknown unknown() const { return unknown_; }
  const std::string& word() const { return word_; }  // that is unknown

  CallError at(const std::string& where) const { return {where + ": " + what(), code_, unknown_, word_}; }

 private:
  CallError(const std::string& message, int code, Unknown unknown, std::string word)
      : std::runtime_error(message), code_(code), unknown_(unknown), word_(std::move(word)) {}

  int code_;
  Unknown unknown_ = Unknown::nothing;
  std::string word_;
};

// Returns parse(), with the place of the text prefixed to its CallError: "--batch: '0' must be a whole number from 1".
template <class Parse>
auto located(const std::string& where, const Parse& parse) {
  try {
    return parse();
  } catch (const CallError& error) {
    throw error.at(where);
  }
}

class FormatError : public std::runtime_error {  // a file that is read is not what it should be: exit code 2
 public:
  using std::runtime_error::runtime_error;
};

class FileError : public std::runtime_error {  // a file cannot be written: exit code 2
 public:
  using std::runtime_error::runtime_error;
};

// From this call on, SIGINT, SIGTERM, SIGHUP and what batch systems send (SIGXCPU, SIGUSR1, SIGUSR2) set a flag, so that the
// running case is ended and finished ones are kept; another signal more than 0.3 s later ends the program at once. Except for
// the first two, a signal that is ignored already stays so, as nohup asks. SIGPIPE is ignored, so a reader that goes away (run
// | head) does not end a suite.
void catch_interrupts();
bool interrupted();

// "epochbench: message" on stderr, as one line of fewer than 800 bytes whatever the message quotes from the call or a file.
void print_error(const std::string& message);

}  // namespace epochbench
