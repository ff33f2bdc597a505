#include "src/worker/usage.h"

#include <cstdio>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace epochbench {

std::optional<double> parse_busy_seconds(const char* stat, double ticks_per_second) {
  // Guest time is part of user time already.
  unsigned long long user, nice, system, idle, iowait, irq, softirq, steal;
  if (std::sscanf(stat, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &iowait, &irq, &softirq,
                  &steal) != 8)
    return std::nullopt;
  return static_cast<double>(user + nice + system + irq + softirq + steal) / ticks_per_second;
}

Usage read_usage() {
  static const int file = open("/proc/stat", O_RDONLY | O_CLOEXEC);
  static const double ticks_per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  Usage usage;
  char text[256];
  const ssize_t size = file < 0 ? -1 : pread(file, text, sizeof text - 1, 0);
  if (size > 0) {
    text[size] = '\0';
    usage.busy_cpu_seconds = parse_busy_seconds(text, ticks_per_second);
  }
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  usage.page_faults = used.ru_minflt + used.ru_majflt;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  usage.own_cpu_seconds = seconds(used.ru_utime) + seconds(used.ru_stime);
  return usage;
}

}  // namespace epochbench
