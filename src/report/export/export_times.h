// Moments, for formats that date every event. A result has one date and many durations; what is placed between them says so.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "src/result/result.h"

namespace epochbench {

// Milliseconds since 1970 in UTC of "2026-01-02T03:04:05Z" (RFC 3339; fractions of a second and offsets too); empty for any
// other text.
std::optional<std::int64_t> milliseconds_since_1970(std::string_view rfc3339);

// 0 for what is not a duration: not finite, negative, or longer than 300 years.
std::int64_t to_milliseconds(double seconds);

// When each run began, in milliseconds since 1970: runs lie end to end, by their wall_seconds, from the result's date on. Runs
// without times take none. Errors: FormatError where the date is none.
std::vector<std::int64_t> run_starts(const Result& result);

}  // namespace epochbench
