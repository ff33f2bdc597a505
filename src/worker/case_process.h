// The parent's handle to a case's process: starts it, exchanges lines with it, and knows when and how it ended.
#pragma once

#include <functional>
#include <memory>
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
  double tick_seconds = 0.25;  // between checks of the process and `interrupted`
  double exit_seconds = 5;     // for the process to exit after its last answer
  bool silent = false;         // its standard error is discarded
  double grace_seconds = 0;    // between SIGTERM and SIGKILL: a launcher ends its ranks, and cleans up
};

// A program's file, held open, so that every process started from it executes the same image, even if a build replaces the
// file.
class ProgramFile {
 public:
  explicit ProgramFile(std::string path);
  ~ProgramFile();
  ProgramFile(const ProgramFile&) = delete;
  ProgramFile& operator=(const ProgramFile&) = delete;

  int descriptor() const { return descriptor_; }  // -1: it cannot be opened
  const std::string& path() const { return path_; }
  bool is_still_there() const;  // at its path, unchanged

 private:
  std::string path_;
  int descriptor_;
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
std::vector<char*> pointers_to(std::vector<std::string>& strings);  // as execve takes them

class CaseProcess {
 public:
  // Starts the command in this process group, in environment_with(settings). The process ignores SIGINT, keeps no other file
  // open, and is killed when the thread that made this object ends. SIGCHLD is reset to its default if ignored, since the
  // kernel would discard the exit status.
  // Errors: std::system_error; std::runtime_error when the command cannot be executed, or is a script that was changed since
  // `command` was made (its interpreter reads it from its path).
  CaseProcess(const WorkerCommand& command, const EnvironmentSettings& settings, const ProcessLimits& limits = {});
  ~CaseProcess();  // kills the process if it still runs
  CaseProcess(const CaseProcess&) = delete;
  CaseProcess& operator=(const CaseProcess&) = delete;

  bool send(const std::string& line);  // false when the process is gone

  enum class Received { line, ended, hung, interrupted };
  // Waits for the next line. Time during which the process, or this one, is stopped does not count as hanging.
  // Errors: ProtocolError for a line that is too long.
  Received receive(std::string& line, const std::function<bool()>& interrupted);

  struct End {
    int exit_code = -1;  // or
    int signal = 0;
    bool overdue = false;  // killed here, because it did not exit within exit_seconds
  };
  End wait();                              // for it to exit
  void kill(double patience_seconds = 0);  // and waits; first gives it this long to exit by itself
  pid_t pid() const { return pid_; }

 private:
  std::optional<End> reap(bool block);
  bool ends_within(double seconds);

  ProcessLimits limits_;
  pid_t pid_ = -1;
  int socket_ = -1;
  LineBuffer lines_;
  std::optional<End> end_;
};

std::string to_string(const CaseProcess::End& end);  // "was killed by SIGSEGV", "ended with exit code 3"

}  // namespace epochbench
