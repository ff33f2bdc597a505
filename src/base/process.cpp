#include "src/base/process.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/errors.h"
#include "src/base/text.h"

extern char** environ;

namespace epochbench {
namespace {

struct Launch {
  pid_t parent;
  int report;  // receives errno if the program cannot be executed
  const ProcessSettings& settings;
  int program;               // its descriptor, or -1
  const char* program_path;  // nullptr: the path has another file
  char* const* arguments;
  char* const* environment;
};

// A script cannot be executed by its descriptor, nor can anything on kernels before 3.19 or in sandboxes that refuse this call;
// then its path is used if it still has the same file.
void execute(const Launch& launch) {
  syscall(SYS_execveat, launch.program, "", launch.arguments, launch.environment, AT_EMPTY_PATH);
  if (launch.program_path)
    execve(launch.program_path, launch.arguments, launch.environment);
  else
    errno = ESTALE;
}

// Runs between fork and exec, where only async-signal-safe functions may be called.
[[noreturn]] void become_program(const Launch& launch) {
  const auto fail = [&launch] {
    const int error = errno;
    [[maybe_unused]] const ssize_t written = write(launch.report, &error, sizeof error);
    _exit(127);
  };
  if (launch.settings.own_group) {
    setpgid(0, 0);
  } else {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launch.parent) _exit(127);  // the parent died before that took effect
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGINT, &ignore, nullptr);  // survives exec
  }
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  const auto connect = [&](int descriptor, int standard) {
    if (dup2(descriptor >= 0 ? descriptor : nothing, standard) < 0) fail();
  };
  connect(launch.settings.input, STDIN_FILENO);
  connect(launch.settings.output, STDOUT_FILENO);
  connect(launch.settings.error_output, STDERR_FILENO);
#ifdef SYS_close_range
  constexpr unsigned kCloseOnExec = 1u << 2;
  const bool closing = syscall(SYS_close_range, 3u, ~0u, kCloseOnExec) == 0;
#else
  const bool closing = false;
#endif
  for (int fd = 3; !closing && fd < 1024; ++fd) fcntl(fd, F_SETFD, FD_CLOEXEC);  // kernels before 5.11
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execute(launch);
  fail();
  _exit(127);
}

// The parent of this program may have left SIGCHLD ignored; then waitpid does not report how children end.
void stop_ignoring_children() {
  struct sigaction action {};
  if (sigaction(SIGCHLD, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) std::signal(SIGCHLD, SIG_DFL);
}

}  // namespace

std::optional<std::string> find_program(std::initializer_list<std::string> names) {
  const auto is_executable = [](const std::string& file) {
    std::error_code error;
    return access(file.c_str(), X_OK) == 0 && !std::filesystem::is_directory(file, error);
  };
  const char* path = std::getenv("PATH");
  const std::vector<std::string> folders = split(path ? path : "/usr/bin:/bin", ':');
  for (const std::string& name : names) {
    if (name.find('/') != std::string::npos && is_executable(name)) return name;
    if (name.find('/') != std::string::npos) continue;
    for (const std::string& folder : folders)
      if (std::string file = (folder.empty() ? "." : folder) + "/" + name; is_executable(file)) return file;
  }
  return std::nullopt;
}

ProgramFile::ProgramFile(std::string path, bool held)
    : path_(std::move(path)), descriptor_(held ? open(path_.c_str(), O_PATH | O_CLOEXEC) : -1) {}

bool ProgramFile::is_still_there() const {
  struct stat held {
  }, there{};
  if (!descriptor_) return true;  // if it is gone, executing it will say so
  return fstat(descriptor(), &held) == 0 && stat(path_.c_str(), &there) == 0 && held.st_dev == there.st_dev &&
         held.st_ino == there.st_ino && held.st_size == there.st_size && held.st_mtim.tv_sec == there.st_mtim.tv_sec &&
         held.st_mtim.tv_nsec == there.st_mtim.tv_nsec;
}

// The image that runs, even if its file was replaced; without /proc, the path that it was started with.
std::string own_program() {
  const char* self = "/proc/self/exe";
  return access(self, X_OK) == 0 ? self : reinterpret_cast<const char*>(getauxval(AT_EXECFN));
}

std::array<FileDescriptor, 2> open_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw std::system_error(errno, std::generic_category(), "cannot open a pipe" + limit_remedy(errno));
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

std::vector<std::string> own_environment() {
  std::vector<std::string> result;
  for (char** entry = environ; *entry; ++entry) result.emplace_back(*entry);
  return result;
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& text : strings) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::string to_string(const ProcessEnd& end) {
  if (end.signal == 0) return "ended with exit code " + std::to_string(end.exit_code);
  const char* abbreviation = sigabbrev_np(end.signal);
  return abbreviation ? std::string("was killed by SIG") + abbreviation : "was killed by signal " + std::to_string(end.signal);
}

Process::Process(const ProgramFile& program, const ProcessSettings& settings) : own_group_(settings.own_group) {
  stop_ignoring_children();
  std::vector<std::string> arguments = settings.arguments, variables = settings.environment;
  const std::vector<char*> argument_pointers = pointers_to(arguments), variable_pointers = pointers_to(variables);
  const auto refuse = [&](int error) {
    if (error == ESTALE)
      throw std::runtime_error(program.path() + " was changed while it was being measured; measure again, and build elsewhere");
    throw std::system_error(error, std::generic_category(), "cannot execute " + program.path());
  };
  auto [reported, reporting] = open_pipe();
  // No signal may reach the process before it ignores SIGINT.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const Launch launch{.parent = getpid(),
                      .report = reporting.number(),
                      .settings = settings,
                      .program = program.descriptor(),
                      .program_path = program.is_still_there() ? program.path().c_str() : nullptr,
                      .arguments = argument_pointers.data(),
                      .environment = variable_pointers.data()};
  id_ = fork();
  if (id_ == 0) become_program(launch);
  const int fork_error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (id_ < 0) refuse(fork_error);
  reporting.close();
  int error = 0;
  ssize_t size = 0;
  do size = read(reported.number(), &error, sizeof error);
  while (size < 0 && errno == EINTR);
  if (size <= 0) return;
  waitpid(id_, nullptr, 0);
  refuse(error);
}

void Process::note(pid_t ended, int status) {
  if (ended != id_) return;
  end_.emplace();
  if (WIFEXITED(status)) end_->exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end_->signal = WTERMSIG(status);
}

bool Process::runs() {
  if (end_ && !own_group_) return false;  // its number may be that of another process by now
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(target(), &status, WNOHANG)) > 0 || (ended < 0 && errno == EINTR)) note(ended, status);
  return ended == 0;
}

// Counts ticks instead of reading the clock, so that time during which this process is stopped does not count.
bool Process::ends_within(double seconds) {
  constexpr double kTickSeconds = 0.005;
  for (double waited = 0; waited < seconds && runs(); waited += kTickSeconds) poll(nullptr, 0, 5);
  return !runs();
}

void Process::kill() {
  ::kill(target(), SIGKILL);
  int status = 0;
  for (pid_t ended = 0; (ended = waitpid(target(), &status, 0)) > 0 || (ended < 0 && errno == EINTR);) note(ended, status);
}

ProcessEnd Process::wait(double seconds) {
  const bool overdue = !ends_within(seconds);
  if (overdue) kill();
  ProcessEnd end = end_.value_or(ProcessEnd{});
  end.overdue = overdue && end.signal == SIGKILL;
  return end;
}

void Process::end(double grace_seconds) {
  if (own_group_)
    prctl(PR_SET_CHILD_SUBREAPER, 1);  // orphans of the group become children of this process, which waits for them
  if (grace_seconds > 0) ::kill(target(), SIGTERM);
  const bool ended = ends_within(grace_seconds);
  if (!ended || own_group_) kill();  // the group may have processes that are not children of this one
  if (own_group_) prctl(PR_SET_CHILD_SUBREAPER, 0);
}

}  // namespace epochbench
