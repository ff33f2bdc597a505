#include "src/session/outside_program.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <poll.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/numbers.h"
#include "src/base/process.h"

namespace epochbench {
namespace {

constexpr double kOpenSeconds = 3;    // in which a program reports that it cannot
constexpr double kTickSeconds = 0.2;  // between checks for an interrupt
constexpr double kTidySeconds = 3;    // between SIGTERM and SIGKILL

ProcessSettings settings_of(const std::vector<std::string>& command, int output) {
  return {.arguments = command, .environment = own_environment(), .output = output, .own_group = true};
}

std::string not_started(const std::system_error& error) { return "cannot be started: " + error.code().message(); }

// Reads until the program closes its output; false: it did not before `deadline`, or was interrupted.
bool read_until(int output, double deadline, const std::function<bool()>& interrupted, std::string& text) {
  while (true) {
    const double left = deadline - steady_seconds();
    if (left <= 0 || (interrupted && interrupted())) return false;
    pollfd waiting{output, POLLIN, 0};
    if (poll(&waiting, 1, static_cast<int>(std::min(left, kTickSeconds) * 1000) + 1) <= 0) continue;
    char bytes[65536];
    const ssize_t size = read(output, bytes, sizeof bytes);
    if (size > 0) text.append(bytes, static_cast<std::size_t>(size));
    if (size == 0 || (size < 0 && errno != EINTR)) return true;
  }
}

}  // namespace

ProgramEnd run_program(const std::vector<std::string>& command, double max_seconds,
                       const std::function<bool()>& interrupted) try {
  ProgramEnd end;
  auto [reads, writes] = open_pipe();
  Process program(ProgramFile(command.front(), false), settings_of(command, writes.number()));
  writes.close();
  if (read_until(reads.number(), steady_seconds() + max_seconds, interrupted, end.output)) {
    if (const ProcessEnd how = program.wait(); !how.ok()) end.reason = to_string(how);
  } else {
    end.reason = interrupted && interrupted() ? "interrupted" : "took more than " + format_seconds(max_seconds);
    program.end(kTidySeconds);
  }
  return end;
} catch (const std::system_error& error) {
  return {"", not_started(error)};
}

std::string open_in_browser(const std::string& path) {
  const auto opener = find_program({"xdg-open", "open"});
  if (!opener) return "neither xdg-open nor open is installed here";
  const std::string name = opener->substr(opener->rfind('/') + 1);
  try {
    Process program(ProgramFile(*opener, false), settings_of({*opener, path}, -1));
    // Some openers run as long as the browser does, which is then left alone.
    if (!program.ends_within(kOpenSeconds)) return "";
    const ProcessEnd end = program.wait();
    return end.ok() ? "" : name + " " + to_string(end);
  } catch (const std::system_error& error) {
    return name + " " + not_started(error);
  }
}

}  // namespace epochbench
