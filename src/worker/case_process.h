// The parent's handle to a case's process: starts it, exchanges lines with it, and knows when and how it ended.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/base/process.h"
#include "src/machine/topology.h"
#include "src/worker/protocol.h"

namespace epochbench {

struct ProcessLimits {
  double hung_seconds = 120;   // after a command, without an answer and without using the CPU
  double tick_seconds = 0.25;  // between checks of the process and `interrupted`
  double exit_seconds = 5;     // for the process to exit after its last answer
  bool silent = false;         // its standard error is discarded
  double grace_seconds = 0;    // between SIGTERM and SIGKILL: a launcher ends its ranks, and cleans up
};

// The command of a process that speaks the case protocol: a program and its arguments. A binary of epochbench is `BINARY case`.
// Copies share the program's file.
struct WorkerCommand {
  WorkerCommand(const std::string& binary) : WorkerCommand(std::vector{binary, std::string("case")}) {}
  WorkerCommand(const char* binary) : WorkerCommand(std::string(binary)) {}
  explicit WorkerCommand(std::vector<std::string> command)
      : arguments(std::move(command)), program(std::make_shared<ProgramFile>(arguments.front())) {}
  WorkerCommand(const std::string& path, std::vector<std::string> command)  // for a program called by another name
      : arguments(std::move(command)), program(std::make_shared<ProgramFile>(path)) {}
  static WorkerCommand own();  // the image that this process runs

  std::vector<std::string> arguments;         // the first one is the program's path, or its name
  const char* called = "the case's process";  // in messages
  std::shared_ptr<const ProgramFile> program;
};

// This process's environment with these settings, and without anything else of OpenMP's run-times, as "KEY=value".
std::vector<std::string> environment_with(const EnvironmentSettings& settings);

class CaseProcess {
 public:
  // Starts the command in this process group, in environment_with(settings). Errors: those of Process.
  CaseProcess(const WorkerCommand& command, const EnvironmentSettings& settings, const ProcessLimits& limits = {});
  ~CaseProcess();  // kills the process if it still runs
  CaseProcess(const CaseProcess&) = delete;
  CaseProcess& operator=(const CaseProcess&) = delete;

  bool send(const std::string& line);  // false when the process is gone

  enum class Received { line, ended, hung, interrupted };
  // Waits for the next line. Time during which the process, or this one, is stopped does not count as hanging.
  // Errors: ProtocolError for a line that is too long.
  Received receive(std::string& line, const std::function<bool()>& interrupted);

  ProcessEnd wait();                       // for it to exit
  void kill(double patience_seconds = 0);  // first gives it this long to exit by itself
  std::string last_errors() const;         // what it wrote to its standard error, shortened to one line

 private:
  void pass_errors();

  ProcessLimits limits_;
  std::array<FileDescriptor, 2> sockets_;  // this process's, and the other's until it has started
  std::array<FileDescriptor, 2> errors_;   // likewise: its standard error, which is passed on
  std::string said_;                       // there, at the end
  Process process_;
  LineBuffer lines_;
  double idle_seconds_ = 0;  // since the last command; its progress may be reported all the same
};

}  // namespace epochbench
