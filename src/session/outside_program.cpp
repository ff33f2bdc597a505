#include "src/session/outside_program.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/numbers.h"
#include "src/base/text.h"

extern char** environ;

namespace epochbench {
namespace {

constexpr double kOpenSeconds = 3;    // in which a program reports that it cannot
constexpr double kTickSeconds = 0.2;  // between checks for an interrupt
constexpr double kTidySeconds = 3;    // between SIGTERM and SIGKILL

enum class Stdout { read, dropped };

// A process in its own process group.
class Started {
 public:
  Started(const std::vector<std::string>& command, Stdout output) {
    int ends[2] = {-1, -1};
    if (output == Stdout::read && pipe2(ends, O_CLOEXEC) != 0) return;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (output == Stdout::read)
      posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    else
      posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    std::vector<char*> arguments;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    error_ = posix_spawn(&pid_, arguments[0], &actions, &attributes, arguments.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (ends[1] >= 0) close(ends[1]);
    output_ = ends[0];
  }
  ~Started() {
    if (output_ >= 0) close(output_);
  }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  int error() const { return error_; }

  // Reads until it closes its stdout; false: it did not before `deadline`, or was interrupted.
  bool read_until(double deadline, const std::function<bool()>& interrupted, std::string& text) const {
    while (true) {
      const double left = deadline - steady_seconds();
      if (left <= 0 || (interrupted && interrupted())) return false;
      pollfd waiting{output_, POLLIN, 0};
      if (poll(&waiting, 1, static_cast<int>(std::min(left, kTickSeconds) * 1000) + 1) <= 0) continue;
      char bytes[65536];
      const ssize_t size = read(output_, bytes, sizeof bytes);
      if (size > 0) text.append(bytes, static_cast<std::size_t>(size));
      if (size == 0 || (size < 0 && errno != EINTR)) return true;
    }
  }

  // Ends it and all that it started. Each process has time to remove what it has half written, such as a target of make.
  void end_group() const {
    prctl(PR_SET_CHILD_SUBREAPER, 1);  // orphans of the group become children of this process, which can wait for them
    ::kill(-pid_, SIGTERM);
    const double deadline = steady_seconds() + kTidySeconds;
    while (group_runs() && steady_seconds() < deadline) poll(nullptr, 0, 20);
    ::kill(-pid_, SIGKILL);
    while (waitpid(-pid_, nullptr, 0) > 0 || errno == EINTR) {
    }
    prctl(PR_SET_CHILD_SUBREAPER, 0);
  }

  int wait() const {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }

  std::optional<int> wait_until(double deadline) const {  // empty: it still runs
    int status = 0;
    while (waitpid(pid_, &status, WNOHANG) == 0) {
      if (steady_seconds() >= deadline) return std::nullopt;
      poll(nullptr, 0, 20);
    }
    return status;
  }

 private:
  bool group_runs() const {
    pid_t ended = 0;
    do ended = waitpid(-pid_, nullptr, WNOHANG);
    while (ended > 0);
    return ended == 0;
  }

  int error_ = EAGAIN, output_ = -1;
  pid_t pid_ = -1;
};

std::string not_started(int error) { return std::string("cannot be started: ") + std::strerror(error); }

// Empty if it exited with 0.
std::string failure_of(int status) {
  if (WIFSIGNALED(status)) return "was ended by signal " + std::to_string(WTERMSIG(status));
  return WEXITSTATUS(status) == 0 ? "" : "exited with " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

std::optional<std::string> program_in_path(std::initializer_list<const char*> names) {
  const char* path = std::getenv("PATH");
  for (const char* name : names)
    for (const std::string& folder : split(path ? path : "/usr/bin:/bin", ':'))
      if (const std::string file = folder + "/" + name; !folder.empty() && access(file.c_str(), X_OK) == 0) return file;
  return std::nullopt;
}

ProgramEnd run_program(const std::vector<std::string>& command, double max_seconds, const std::function<bool()>& interrupted) {
  ProgramEnd end;
  const Started program(command, Stdout::read);
  if (program.error() != 0) {
    end.reason = not_started(program.error());
    return end;
  }
  if (program.read_until(steady_seconds() + max_seconds, interrupted, end.output)) {
    end.reason = failure_of(program.wait());
  } else {
    end.reason = interrupted && interrupted() ? "interrupted" : "took more than " + format_seconds(max_seconds);
    program.end_group();
  }
  end.done = end.reason.empty();
  return end;
}

std::string open_in_browser(const std::string& path) {
  const auto opener = program_in_path({"xdg-open", "open"});
  if (!opener) return "neither xdg-open nor open is installed here";
  const Started program({*opener, path}, Stdout::dropped);
  const std::string name = opener->substr(opener->rfind('/') + 1);
  if (program.error() != 0) return name + " " + not_started(program.error());
  // Some openers run as long as the browser does, which is then left alone.
  const std::optional<int> status = program.wait_until(steady_seconds() + kOpenSeconds);
  const std::string failure = status ? failure_of(*status) : "";
  return failure.empty() ? "" : name + " " + failure;
}

}  // namespace epochbench
