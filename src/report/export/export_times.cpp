#include "src/report/export/export_times.h"

#include <charconv>
#include <chrono>
#include <cmath>

#include "src/base/clock.h"
#include "src/base/json.h"

namespace epochbench {
namespace {

constexpr double kLongestSeconds = 1e10;

// Two decimal digits of at most `most`, taken from the front of `text`.
std::optional<int> take_two(std::string_view& text, int most) {
  int value = 0;
  if (text.size() < 2 || text[0] < '0' || text[0] > '9') return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + 2, value);
  if (error != std::errc() || end != text.data() + 2 || value > most) return std::nullopt;
  text.remove_prefix(2);
  return value;
}

bool take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// Milliseconds of ".123"; digits beyond the third are dropped. Empty for a point without digits.
std::optional<int> take_fraction(std::string_view& text) {
  if (!take(text, ".")) return 0;
  int value = 0, digits = 0;
  for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; text.remove_prefix(1), ++digits)
    if (digits < 3) value = value * 10 + (text.front() - '0');
  if (digits == 0) return std::nullopt;
  for (; digits < 3; ++digits) value *= 10;
  return value;
}

// Minutes east of Greenwich: "Z", "+02:00".
std::optional<int> take_offset(std::string_view& text) {
  if (take(text, "Zz")) return 0;
  const bool west = !text.empty() && text.front() == '-';
  if (!take(text, "+-")) return std::nullopt;
  const auto hours = take_two(text, 23);
  if (!hours || !take(text, ":")) return std::nullopt;
  const auto minutes = take_two(text, 59);
  if (!minutes) return std::nullopt;
  return (*hours * 60 + *minutes) * (west ? -1 : 1);
}

}  // namespace

std::optional<std::int64_t> milliseconds_since_1970(std::string_view rfc3339) {
  const auto day = parse_day(rfc3339.substr(0, 10));
  if (!day) return std::nullopt;
  std::string_view rest = rfc3339.substr(10);
  if (!take(rest, "Tt ")) return std::nullopt;
  const auto hours = take_two(rest, 23);
  if (!hours || !take(rest, ":")) return std::nullopt;
  const auto minutes = take_two(rest, 59);
  if (!minutes || !take(rest, ":")) return std::nullopt;
  const auto seconds = take_two(rest, 60);  // 60: a leap second
  if (!seconds) return std::nullopt;
  const auto fraction = take_fraction(rest);
  if (!fraction) return std::nullopt;
  const auto offset = take_offset(rest);
  if (!offset || !rest.empty()) return std::nullopt;
  const std::int64_t in_seconds = std::chrono::duration_cast<std::chrono::seconds>(day->time_since_epoch()).count() +
                                  std::int64_t{*hours} * 3600 + (*minutes - *offset) * 60 + *seconds;
  return in_seconds * 1000 + *fraction;
}

std::int64_t to_milliseconds(double seconds) {
  return seconds >= 0 && seconds <= kLongestSeconds ? std::llround(seconds * 1000) : 0;
}

std::vector<std::int64_t> run_starts(const Result& result) {
  const auto date = milliseconds_since_1970(result.context.date);
  if (!date)
    throw FormatError("context.date: '" + result.context.date.substr(0, 40) +
                      "' is not a date of RFC 3339, and this format dates its events; write it as 2026-01-02T03:04:05Z");
  std::vector<std::int64_t> starts;
  std::int64_t next = *date;
  for (const Run& run : result.runs) {
    starts.push_back(next);
    if (run.timing) next += to_milliseconds(run.timing->wall_seconds);
  }
  return starts;
}

}  // namespace epochbench
