// The process of one case as its parent holds it: starts it, talks to it line by line, and knows when and how it ended.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <sys/types.h>

#include "src/machine/topology.h"
#include "src/worker/protocol.h"

namespace epochbench {

struct ProcessLimits {
  double hung_seconds = 120;    // without a message and without using the CPU
  double tick_seconds = 0.25;   // between two looks at the process and at `interrupted`
  double farewell_seconds = 5;  // for the process to end once it has nothing to say any more
  bool silent = false;          // nobody sees its standard error
};

class CaseProcess {
 public:
  // Starts `binary case` in this process group, with the settings that the environment does not have already. The process
  // ignores SIGINT, keeps no other file open, and is killed when the thread that made this object ends. An ignored SIGCHLD,
  // with which the kernel would keep nobody's end, gets its default back.
  // Errors: std::system_error; std::runtime_error when `binary` cannot be executed.
  CaseProcess(const std::string& binary, const EnvironmentSettings& settings, const ProcessLimits& limits = {});
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
    bool overdue = false;  // killed here, since its own end did not come within farewell_seconds
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
