// Days of the calendar, as far as the age of a price needs them.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace epochbench {

using Day = std::chrono::sys_days;

// "2026-01-19"; empty where the text is not such a day.
std::optional<Day> parse_day(std::string_view text);

// Whole days from one day to a later one; negative where `to` is the earlier.
int days_between(Day from, Day to);

}  // namespace epochbench
