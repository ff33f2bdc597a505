// The clock for everything that is timed, a function so that tests can supply their own; and calendar days.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string_view>

namespace epochbench {

using Clock = std::function<double()>;  // seconds since a fixed moment, never going back

inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double thread_cpu_seconds();  // CPU time of this thread, to which other processes on its core add nothing

inline constexpr double kSecondsPerHour = 3600;

using Day = std::chrono::sys_days;

// "2026-01-19"; empty if the text is not such a day.
std::optional<Day> parse_day(std::string_view text);

// Whole days from one day to a later one; negative if `to` is earlier.
int days_between(Day from, Day to);

}  // namespace epochbench
