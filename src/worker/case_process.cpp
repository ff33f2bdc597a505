#include "src/worker/case_process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files.h"
#include "src/base/openmp_variables.h"
#include "src/machine/clean_start.h"
#include "src/machine/system_files.h"

extern char** environ;

namespace epochbench {
namespace {

[[noreturn]] void throw_errno(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

struct Launch {
  pid_t parent;
  int socket, report;  // the process's ends: for messages, and to report errno to the parent
  bool silent;
  int program;               // its descriptor, or -1
  const char* program_path;  // nullptr: the path has another file
  char* const* arguments;
  char* const* environment;
};

// A script cannot be executed by its descriptor, nor can anything on kernels before 3.19; then its path is used if it still has
// the same file.
void execute(const Launch& launch) {
  syscall(SYS_execveat, launch.program, "", launch.arguments, launch.environment, AT_EMPTY_PATH);
  if (launch.program >= 0 && errno != ENOENT && errno != ENOSYS) return;
  if (launch.program_path)
    execve(launch.program_path, launch.arguments, launch.environment);
  else
    errno = ESTALE;
}

// Runs between fork and exec, where only async-signal-safe functions may be called.
[[noreturn]] void become_case(const Launch& launch) {
  const auto fail = [&launch] {
    const int error = errno;
    [[maybe_unused]] const ssize_t written = write(launch.report, &error, sizeof error);
    _exit(127);
  };
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launch.parent) _exit(127);  // the parent died before that took effect
  if (dup2(launch.socket, STDIN_FILENO) < 0 || dup2(launch.socket, STDOUT_FILENO) < 0) fail();
  if (const int nothing = launch.silent ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1; nothing >= 0)
    dup2(nothing, STDERR_FILENO);
#ifdef SYS_close_range
  constexpr unsigned kCloseOnExec = 1u << 2;
  const bool closing = syscall(SYS_close_range, 3u, ~0u, kCloseOnExec) == 0;
#else
  const bool closing = false;
#endif
  for (int fd = 3; !closing && fd < 1024; ++fd) fcntl(fd, F_SETFD, FD_CLOEXEC);  // kernels before 5.11
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGINT, &ignore, nullptr);  // survives exec
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

// State letter and CPU time of a process, from /proc; empty if it cannot be read.
struct Activity {
  char state = '?';
  std::int64_t cpu_ticks = 0;
};
std::optional<Activity> activity_of(pid_t pid) {
  const auto stat = read_system_file("/proc/" + std::to_string(pid) + "/stat");
  if (!stat) return std::nullopt;
  const std::size_t name_end = stat->rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(stat->substr(name_end + 1));
  Activity activity;
  std::string skip;
  std::int64_t user = 0, system = 0;
  fields >> activity.state;
  for (int field = 4; field < 14; ++field) fields >> skip;
  if (!(fields >> user >> system)) return std::nullopt;
  activity.cpu_ticks = user + system;
  return activity;
}

// Includes the CPU time of children, since a launcher sleeps while its ranks compute.
std::optional<Activity> activity_with_children(pid_t pid) {
  std::optional<Activity> sum = activity_of(pid);
  const std::string task = std::to_string(pid);
  if (const auto list = sum ? read_system_file("/proc/" + task + "/task/" + task + "/children") : std::nullopt) {
    std::istringstream children(*list);
    for (pid_t child = 0; children >> child;)
      if (const auto activity = activity_of(child)) sum->cpu_ticks += activity->cpu_ticks;
  }
  return sum;
}

}  // namespace

std::vector<std::string> environment_with(const EnvironmentSettings& settings) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text = *entry, key = text.substr(0, text.find('='));
    if (!is_of_openmp(text) && key != kStartedWith && !settings.contains(std::string(key))) result.emplace_back(text);
  }
  for (const auto& [key, value] : settings) result.push_back(key + "=" + value);
  return result;
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& text : strings) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

ProgramFile::ProgramFile(std::string path) : path_(std::move(path)), descriptor_(open(path_.c_str(), O_PATH | O_CLOEXEC)) {}

ProgramFile::~ProgramFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool ProgramFile::is_still_there() const {
  struct stat held {
  }, there{};
  if (descriptor_ < 0) return true;  // executing it will say why
  return fstat(descriptor_, &held) == 0 && stat(path_.c_str(), &there) == 0 && held.st_dev == there.st_dev &&
         held.st_ino == there.st_ino && held.st_size == there.st_size && held.st_mtim.tv_sec == there.st_mtim.tv_sec &&
         held.st_mtim.tv_nsec == there.st_mtim.tv_nsec;
}

WorkerCommand WorkerCommand::own() {
  const auto made = [] {
    const char* self = "/proc/self/exe";  // the running image, even if its file was replaced
    if (access(self, X_OK) != 0) self = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
    WorkerCommand command{std::string(self)};
    command.arguments.front() = "epochbench";
    return command;
  };
  static const WorkerCommand command = made();
  return command;
}

CaseProcess::CaseProcess(const WorkerCommand& command, const EnvironmentSettings& settings, const ProcessLimits& limits)
    : limits_(limits) {
  stop_ignoring_children();
  std::vector<std::string> arguments = command.arguments, environment = environment_with(settings);
  const std::vector<char*> argument_pointers = pointers_to(arguments), environment_pointers = pointers_to(environment);

  int sockets[2], report[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) throw_errno("cannot talk to a case's process");
  if (pipe2(report, O_CLOEXEC) != 0) {
    close(sockets[0]);
    close(sockets[1]);
    throw_errno("cannot start a case's process");
  }
  // No signal may reach the process before it ignores SIGINT.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const ProgramFile& program = *command.program;
  const Launch launch{.parent = getpid(),
                      .socket = sockets[1],
                      .report = report[1],
                      .silent = limits_.silent,
                      .program = program.descriptor(),
                      .program_path = program.is_still_there() ? program.path().c_str() : nullptr,
                      .arguments = argument_pointers.data(),
                      .environment = environment_pointers.data()};
  pid_ = fork();
  if (pid_ == 0) become_case(launch);
  const int fork_error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  close(sockets[1]);
  close(report[1]);
  int error = 0;
  ssize_t size = 0;
  if (pid_ > 0) {
    do size = read(report[0], &error, sizeof error);
    while (size < 0 && errno == EINTR);
  }
  close(report[0]);
  if (pid_ > 0 && size <= 0) {
    socket_ = sockets[0];
    return;
  }
  close(sockets[0]);
  if (pid_ < 0) throw std::system_error(fork_error, std::generic_category(), "cannot start a case's process");
  waitpid(pid_, nullptr, 0);
  if (error == ESTALE)
    throw std::runtime_error(program.path() + " was changed while it was being measured; measure again, and build elsewhere");
  throw std::runtime_error("cannot execute " + program.path() + ": " + std::strerror(error));
}

CaseProcess::~CaseProcess() {
  kill();
  close(socket_);
}

bool CaseProcess::send(const std::string& line) {
  const std::string text = line + "\n";
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t size = ::send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (size < 0 && errno != EINTR) return false;
    if (size > 0) sent += static_cast<std::size_t>(size);
  }
  return true;
}

CaseProcess::Received CaseProcess::receive(std::string& line, const std::function<bool()>& interrupted) {
  double idle_seconds = 0, looked = steady_seconds();
  std::optional<Activity> last = activity_with_children(pid_);
  while (true) {
    if (interrupted && interrupted()) return Received::interrupted;
    if (auto complete = lines_.pop()) {
      line = std::move(*complete);
      return Received::line;
    }
    pollfd waiting{socket_, POLLIN, 0};
    if (poll(&waiting, 1, static_cast<int>(limits_.tick_seconds * 1000)) > 0) {
      char bytes[65536];
      const ssize_t size = recv(socket_, bytes, sizeof bytes, MSG_DONTWAIT);
      if (size > 0) lines_.append(bytes, static_cast<std::size_t>(size));
      if (size == 0 || (size < 0 && errno != EINTR && errno != EAGAIN)) return Received::ended;
      continue;
    }
    // A long tick means that this process itself was stopped, so its length is capped.
    const double now = steady_seconds(), tick = std::min(now - looked, std::min(1.0, 4 * limits_.tick_seconds));
    looked = now;
    const std::optional<Activity> activity = activity_with_children(pid_);
    if (!activity || !last) continue;
    const bool stopped = activity->state == 'T' || activity->state == 't';
    if (activity->cpu_ticks > last->cpu_ticks)
      idle_seconds = 0;
    else if (!stopped)
      idle_seconds += tick;
    last = activity;
    if (idle_seconds >= limits_.hung_seconds) return Received::hung;
  }
}

std::optional<CaseProcess::End> CaseProcess::reap(bool block) {
  if (end_) return end_;
  int status = 0;
  pid_t result;
  do result = waitpid(pid_, &status, block ? 0 : WNOHANG);
  while (result < 0 && errno == EINTR);
  if (result == 0) return std::nullopt;
  end_ = End{};
  if (result > 0 && WIFEXITED(status)) end_->exit_code = WEXITSTATUS(status);
  if (result > 0 && WIFSIGNALED(status)) end_->signal = WTERMSIG(status);
  return end_;
}

bool CaseProcess::ends_within(double seconds) {
  for (double waited = 0; waited < seconds && !reap(false); waited += 0.005) poll(nullptr, 0, 5);
  return reap(false).has_value();
}

CaseProcess::End CaseProcess::wait() {
  if (ends_within(limits_.exit_seconds)) return *end_;
  ::kill(pid_, SIGKILL);
  reap(true);
  end_->overdue = end_->signal == SIGKILL;
  return *end_;
}

void CaseProcess::kill(double patience_seconds) {
  if (ends_within(patience_seconds)) return;
  if (limits_.grace_seconds > 0) {
    ::kill(pid_, SIGTERM);
    if (ends_within(limits_.grace_seconds)) return;
  }
  ::kill(pid_, SIGKILL);
  reap(true);
}

std::string to_string(const CaseProcess::End& end) {
  if (end.signal == 0) return "ended with exit code " + std::to_string(end.exit_code);
  const char* abbreviation = sigabbrev_np(end.signal);
  return abbreviation ? std::string("was killed by SIG") + abbreviation : "was killed by signal " + std::to_string(end.signal);
}

}  // namespace epochbench
