// The parent's handle of a case's process: starts it, exchanges lines with it, and knows when and how it ended.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "src/machine/topology.h"
#include "src/worker/protocol.h"

namespace epochbench {

struct ProcessLimits {
  double hung_seconds = 120;   // without a message and without using the CPU
  double tick_seconds = 0.25;  // between two looks at the process and at `interrupted`
  double exit_seconds = 5;     // for the process to exit after its last answer
  bool silent = false;         // its standard error is discarded
};

// The command of a process that speaks the case protocol: a path and its arguments. A binary of epochbench is `BINARY case`.
struct WorkerCommand {
  WorkerCommand(const std::string& binary) : words{binary, "case"} {}
  WorkerCommand(const char* binary) : WorkerCommand(std::string(binary)) {}
  explicit WorkerCommand(std::vector<std::string> command) : words(std::move(command)) {}
  std::vector<std::string> words;  // the first one is a path
};

class CaseProcess {
 public:
  // Starts the command in this process group, with the settings that the environment does not have already. The process
  // ignores SIGINT, keeps no other file open, and is killed when the thread that made this object ends. SIGCHLD, if ignored,
  // gets its default back: otherwise the kernel would discard how the process ended.
  // Errors: std::system_error; std::runtime_error when the command cannot be executed.
  CaseProcess(const WorkerCommand& command, const EnvironmentSettings& settings, const ProcessLimits& limits = {});
  ~CaseProcess();  // kills what still runs
  CaseProcess(const CaseProcess&) = delete;
  CaseProcess& operator=(const CaseProcess&) = delete;

  bool send(const std::string& line);  // false when the process is gone

  enum class Received { line, ended, hung, interrupted };
  // Waits for the next line. Time during which the process, or this one, is stopped does not count as hanging.
  // Errors: ProtocolError for a line without an end.
  Received receive(std::string& line, const std::function<bool()>& interrupted);

  struct End {
    int exit_code = -1;  // or
    int signal = 0;
    bool overdue = false;  // killed here, because it did not exit within exit_seconds
  };
  End wait();   // for its end
  void kill();  // at once, and waits
  pid_t pid() const { return pid_; }

 private:
  std::optional<End> reap(bool block);

  ProcessLimits limits_;
  pid_t pid_ = -1;
  int socket_ = -1;
  LineBuffer lines_;
  std::optional<End> end_;
};

std::string to_string(const CaseProcess::End& end);  // "was killed by SIGSEGV", "ended with exit code 3"

}  // namespace epochbench
