// A child process: how it is started, awaited and ended. It does not know what the process says.
#pragma once

#include <array>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "src/base/file_descriptor.h"

namespace epochbench {

// The file of the first of these programs that is installed: a name with a slash is a path, any other is looked up in PATH.
std::optional<std::string> find_program(std::initializer_list<std::string> names);

// A program's file. If it is held open, every process started from it executes the same image, even if a build replaces the
// file; but ps shows the number of a descriptor in place of the program's name.
class ProgramFile {
 public:
  explicit ProgramFile(std::string path, bool held = true);

  int descriptor() const { return descriptor_.number(); }  // -1: it is not held, or cannot be opened
  const std::string& path() const { return path_; }
  bool is_still_there() const;  // at its path, unchanged

 private:
  std::string path_;
  FileDescriptor descriptor_;
};

std::string own_program();                                          // the path of the image that this process runs
std::array<FileDescriptor, 2> open_pipe();                          // to read from and to write to; errors: std::system_error
std::vector<std::string> own_environment();                         // of this process, each "KEY=value"
std::vector<char*> pointers_to(std::vector<std::string>& strings);  // as execve takes them

struct ProcessSettings {
  std::vector<std::string> arguments;              // the first is the program's name
  std::vector<std::string> environment;            // each "KEY=value"
  int input = -1, output = -1, error_output = -1;  // descriptors; -1: /dev/null
  // Without its own group, the process ignores SIGINT, which a terminal sends to this one as well, and is killed when the
  // thread that made it ends. With it, the process may outlive this one, and ending it ends all that it started.
  bool own_group = false;
};

struct ProcessEnd {
  int exit_code = -1;  // or
  int signal = 0;
  bool overdue = false;  // killed here, because it did not exit in time

  bool ok() const { return signal == 0 && exit_code == 0; }
};
std::string to_string(const ProcessEnd& end);  // "was killed by SIGSEGV", "ended with exit code 3"

class Process {
 public:
  // The process keeps no file open beside those of `settings`. SIGCHLD is reset to its default if ignored, since the kernel
  // would discard the exit status.
  // Errors: std::system_error if the program cannot be executed; std::runtime_error if it is a script that was changed since
  // `program` was made (its interpreter reads it from its path).
  Process(const ProgramFile& program, const ProcessSettings& settings);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t id() const { return id_; }
  bool ends_within(double seconds);
  // Waits for it to exit, and kills it if it has not done so in time.
  ProcessEnd wait(double seconds = std::numeric_limits<double>::infinity());
  // Ends it: by SIGTERM, if that has a grace period, and by SIGKILL. Precondition: nobody has seen it end.
  void end(double grace_seconds);

 private:
  pid_t target() const { return own_group_ ? -id_ : id_; }
  bool runs();
  void kill();
  void note(pid_t ended, int status);

  const bool own_group_;
  pid_t id_ = -1;
  std::optional<ProcessEnd> end_;
};

}  // namespace epochbench
