#include "src/worker/case_process.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <sstream>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files.h"
#include "src/base/openmp_variables.h"
#include "src/base/text.h"
#include "src/machine/clean_start.h"
#include "src/machine/system_files.h"

namespace epochbench {
namespace {

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

std::array<FileDescriptor, 2> connected_sockets() {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    throw std::system_error(errno, std::generic_category(), "cannot talk to a case's process");
  return {FileDescriptor(sockets[0]), FileDescriptor(sockets[1])};
}

}  // namespace

std::vector<std::string> environment_with(const EnvironmentSettings& settings) {
  std::vector<std::string> result = own_environment();
  std::erase_if(result, [&](const std::string& entry) {
    const std::string key = entry.substr(0, entry.find('='));
    return is_of_openmp(entry) || key == kStartedWith || settings.contains(key);
  });
  for (const auto& [key, value] : settings) result.push_back(key + "=" + value);
  return result;
}

WorkerCommand WorkerCommand::own() {
  const auto made = [] {
    WorkerCommand command{own_program()};
    command.arguments.front() = "epochbench";
    return command;
  };
  static const WorkerCommand command = made();
  return command;
}

CaseProcess::CaseProcess(const WorkerCommand& command, const EnvironmentSettings& settings, const ProcessLimits& limits)
    : limits_(limits),
      sockets_(connected_sockets()),
      errors_(open_pipe()),
      process_(*command.program, {.arguments = command.arguments,
                                  .environment = environment_with(settings),
                                  .input = sockets_[1].number(),
                                  .output = sockets_[1].number(),
                                  .error_output = errors_[1].number()}) {
  sockets_[1].close();
  errors_[1].close();
  fcntl(errors_[0].number(), F_SETFL, O_NONBLOCK);
}

CaseProcess::~CaseProcess() { kill(); }

bool CaseProcess::send(const std::string& line) {
  idle_seconds_ = 0;
  const std::string text = line + "\n";
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t size = ::send(sockets_[0].number(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (size < 0 && errno != EINTR) return false;
    if (size > 0) sent += static_cast<std::size_t>(size);
  }
  return true;
}

CaseProcess::Received CaseProcess::receive(std::string& line, const std::function<bool()>& interrupted) {
  double looked = steady_seconds();
  std::optional<Activity> last = activity_with_children(process_.id());
  while (true) {
    if (interrupted && interrupted()) return Received::interrupted;
    if (auto complete = lines_.pop()) {
      line = std::move(*complete);
      return Received::line;
    }
    std::array<pollfd, 2> waiting{{{sockets_[0].number(), POLLIN, 0}, {errors_[0].number(), POLLIN, 0}}};
    const int ready = poll(waiting.data(), waiting.size(), static_cast<int>(limits_.tick_seconds * 1000));
    if (waiting[1].revents != 0) pass_errors();
    if (waiting[0].revents != 0) {
      char bytes[65536];
      const ssize_t size = recv(sockets_[0].number(), bytes, sizeof bytes, MSG_DONTWAIT);
      if (size > 0) lines_.append(bytes, static_cast<std::size_t>(size));
      if (size == 0 || (size < 0 && errno != EINTR && errno != EAGAIN)) return Received::ended;
    }
    if (ready > 0) continue;
    // A long tick means that this process itself was stopped, so its length is capped.
    const double now = steady_seconds(), tick = std::min(now - looked, std::min(1.0, 4 * limits_.tick_seconds));
    looked = now;
    const std::optional<Activity> activity = activity_with_children(process_.id());
    if (!activity || !last) continue;
    const bool stopped = activity->state == 'T' || activity->state == 't';
    if (activity->cpu_ticks > last->cpu_ticks)
      idle_seconds_ = 0;
    else if (!stopped)
      idle_seconds_ += tick;
    last = activity;
    if (idle_seconds_ >= limits_.hung_seconds) return Received::hung;
  }
}

// A process that ends may still write more than fits into the pipe.
ProcessEnd CaseProcess::wait() {
  constexpr double kTickSeconds = 0.1;
  for (double waited = 0; waited < limits_.exit_seconds && !process_.ends_within(kTickSeconds); waited += kTickSeconds)
    pass_errors();
  const ProcessEnd end = process_.wait(0);
  pass_errors();
  return end;
}

void CaseProcess::kill(double patience_seconds) {
  if (!process_.ends_within(patience_seconds)) process_.end(limits_.grace_seconds);
  pass_errors();
}

void CaseProcess::pass_errors() {
  constexpr std::size_t kKept = 4096;
  char bytes[4096];
  ssize_t size = 0;
  while (errors_[0] && (size = read(errors_[0].number(), bytes, sizeof bytes)) > 0) {
    const auto count = static_cast<std::size_t>(size);
    if (limits_.silent || write(STDERR_FILENO, bytes, count) < 0) errno = 0;  // nobody receives them
    said_.append(bytes, count);
    if (said_.size() > kKept) said_.erase(0, said_.size() - kKept);
  }
  if (size == 0) errors_[0].close();
}

std::string CaseProcess::last_errors() const {
  constexpr std::size_t kPart = 200;
  std::string all;
  for (const std::string& line : split(said_, '\n'))
    if (const std::string_view text = trimmed(line); text.find_first_not_of("-=* ") != std::string_view::npos)
      append(all, std::string(text), " ");
  return all.size() <= 2 * kPart ? all : all.substr(0, kPart) + " ... " + all.substr(all.size() - kPart);
}

}  // namespace epochbench
