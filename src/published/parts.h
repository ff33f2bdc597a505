// What the readers of published files share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/base/json_fields.h"
#include "src/result/published.h"

namespace epochbench {

inline constexpr std::int64_t kMaxDevices = 1'000'000;  // in a machine: more are a typing error

// To nine digits: a figure that was converted or derived has no more, and is the same on every machine.
double rounded(double value);

// The address of a file where the origin names repository and commit.
std::optional<std::string> link_of(const PublishedOrigin& origin, const std::string& path);

// "; retrieved from https://github.com/OWNER/NAME on 2026-01-19" of what is known; empty where nothing is.
std::string retrieval(const PublishedOrigin& origin);

// A member that is a number above 0 and at most `most`; empty where it is missing or null. Errors: FormatError.
std::optional<double> positive_number(const JsonFields& from, const char* key, double most);

// "a result of epochbench": what a file of another kind seems to be, by its keys.
std::string likely_kind(const Json& document);

std::optional<std::string> text_if_any(const JsonFields& from, const char* key);  // empty where it is missing, null or ""

// "16" as 16: a whole number from 0 to `most`, alone. Empty for any other text.
std::optional<std::int64_t> whole_number(const std::string& text, std::int64_t most);

}  // namespace epochbench
