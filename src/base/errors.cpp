#include "src/base/errors.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "src/base/text.h"

namespace epochbench {
namespace {

constexpr const char* kThreadLimitRemedy =
    "; too many processes or threads: raise their limit (ulimit -u, or docker run --pids-limit)";

volatile std::sig_atomic_t caught = 0;
timespec first{};  // time of the first signal caught

// One signal may arrive twice: `timeout` sends it to a process and to its group.
void note(int signal) {
  constexpr double kSameSeconds = 0.3;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (caught == 0) {
    first = now;
    caught = 1;
  } else if (static_cast<double>(now.tv_sec - first.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec - first.tv_nsec) >
             kSameSeconds) {
    std::signal(signal, SIG_DFL);
    raise(signal);  // ends the program when this function returns
  }
}

}  // namespace

std::string limit_remedy(int error) {
  if (error == EMFILE) return " (raise the limit: ulimit -n 1024)";
  return error == EFBIG ? " (raise the limit: ulimit -f unlimited)" : "";
}

std::string error_text(int error) { return std::strerror(error) + limit_remedy(error); }

std::string error_text(const std::exception& error) {
  const auto* of_system = dynamic_cast<const std::system_error*>(&error);
  const bool lacks_threads = of_system && of_system->code() == std::errc::resource_unavailable_try_again;
  return error.what() + std::string(lacks_threads ? kThreadLimitRemedy : "");
}

std::string thread_limit_remedy(std::string_view said) {
  return said.find("Thread creation failed") == std::string_view::npos ? "" : kThreadLimitRemedy;  // libgomp's words
}

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = note;
  // Batch systems announce the end by SIGUSR1, SIGUSR2 or SIGXCPU. nohup ignores SIGHUP.
  const auto signals = {SIGINT, SIGTERM, SIGXCPU, SIGUSR1, SIGUSR2, SIGHUP};
  sigemptyset(&action.sa_mask);
  for (const int signal : signals) sigaddset(&action.sa_mask, signal);
  for (const int signal : signals) {
    struct sigaction inherited {};
    const bool ignored = sigaction(signal, nullptr, &inherited) == 0 && inherited.sa_handler == SIG_IGN;
    if (!ignored || signal == SIGINT || signal == SIGTERM) sigaction(signal, &action, nullptr);
  }
  std::signal(SIGPIPE, SIG_IGN);
}

bool interrupted() { return caught != 0; }

void print_error(const std::string& message) {
  constexpr std::size_t kLongest = 700;
  std::string line = "epochbench: " + message;
  if (line.size() > kLongest) {
    // The remedy is at the end, so the middle is cut, at code point boundaries.
    std::size_t head = kLongest / 2, tail = line.size() - kLongest / 2;
    while (head > 0 && (static_cast<unsigned char>(line[head]) & 0xC0) == 0x80) --head;
    while (tail < line.size() && (static_cast<unsigned char>(line[tail]) & 0xC0) == 0x80) ++tail;
    line = line.substr(0, head) + " ... " + line.substr(tail);
  }
  std::replace(line.begin(), line.end(), '\n', ' ');
  const char* over_progress = obeys_controls(Stream::error) ? "\r\033[K" : "";  // which may be drawn there, by another process
  std::fprintf(stderr, "%s%s\n", over_progress, fitted(visible(line), output_columns(Stream::error)).c_str());
}

}  // namespace epochbench
