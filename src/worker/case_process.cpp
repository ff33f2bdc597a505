#include "src/worker/case_process.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <sstream>
#include <system_error>
#include <vector>

#include <poll.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files.h"
#include "src/base/openmp_variables.h"
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
    : limits_(limits),
      sockets_(connected_sockets()),
      process_(*command.program, {.arguments = command.arguments,
                                  .environment = environment_with(settings),
                                  .input = sockets_[1].number(),
                                  .output = sockets_[1].number(),
                                  .error_output = limits.silent ? -1 : STDERR_FILENO}) {
  sockets_[1].close();
}

CaseProcess::~CaseProcess() { kill(); }

bool CaseProcess::send(const std::string& line) {
  const std::string text = line + "\n";
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t size = ::send(sockets_[0].number(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (size < 0 && errno != EINTR) return false;
    if (size > 0) sent += static_cast<std::size_t>(size);
  }
  return true;
}

CaseProcess::Received CaseProcess::receive(std::string& line, const std::function<bool()>& interrupted) {
  double idle_seconds = 0, looked = steady_seconds();
  std::optional<Activity> last = activity_with_children(process_.id());
  while (true) {
    if (interrupted && interrupted()) return Received::interrupted;
    if (auto complete = lines_.pop()) {
      line = std::move(*complete);
      return Received::line;
    }
    pollfd waiting{sockets_[0].number(), POLLIN, 0};
    if (poll(&waiting, 1, static_cast<int>(limits_.tick_seconds * 1000)) > 0) {
      char bytes[65536];
      const ssize_t size = recv(sockets_[0].number(), bytes, sizeof bytes, MSG_DONTWAIT);
      if (size > 0) lines_.append(bytes, static_cast<std::size_t>(size));
      if (size == 0 || (size < 0 && errno != EINTR && errno != EAGAIN)) return Received::ended;
      continue;
    }
    // A long tick means that this process itself was stopped, so its length is capped.
    const double now = steady_seconds(), tick = std::min(now - looked, std::min(1.0, 4 * limits_.tick_seconds));
    looked = now;
    const std::optional<Activity> activity = activity_with_children(process_.id());
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

void CaseProcess::kill(double patience_seconds) {
  if (!process_.ends_within(patience_seconds)) process_.end(limits_.grace_seconds);
}

}  // namespace epochbench
