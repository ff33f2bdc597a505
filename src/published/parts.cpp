#include "src/published/parts.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "src/base/numbers.h"
#include "src/base/text.h"

namespace epochbench {

double rounded(double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.9g", value);
  return std::strtod(digits, nullptr);
}

std::optional<std::string> link_of(const PublishedOrigin& origin, const std::string& path) {
  if (!origin.repository || !origin.commit) return std::nullopt;
  return "https://github.com/" + *origin.repository + "/blob/" + *origin.commit + "/" + path;
}

std::string retrieval(const PublishedOrigin& origin) {
  if (!origin.repository) return "";
  return "; retrieved from https://github.com/" + *origin.repository + (origin.retrieved ? " on " + *origin.retrieved : "");
}

std::optional<double> positive_number(const JsonFields& from, const char* key, double most) {
  const std::optional<double> value = from.maybe_number(key);
  if (value && !(*value > 0 && *value <= most))
    throw FormatError(from.path(key) + ": must be above 0 and at most " + short_number(most));
  return value;
}

std::string likely_kind(const Json& document) {
  struct Kind {
    const char *key, *what;
  };
  constexpr Kind kKinds[] = {{"schema_version", "a result of epochbench"},
                             {"published_version", "a document that `epochbench import` wrote"},
                             {"turns_version", "a document of `epochbench compare --interleave`"},
                             {"documents", "a list of sources"},
                             {"system_name", "a system of MLPerf"},
                             {"scaling_factor", "a scaling factor of MLPerf"},
                             {"hardware", "an entry of DAWNBench"}};
  for (const Kind& kind : kKinds)
    if (document.contains(kind.key)) return std::string("seems to be ") + kind.what;
  constexpr std::size_t kFewKeys = 3, kLongestKey = 30;
  std::string keys;
  for (const auto& [key, value] : document.items())
    if (static_cast<std::size_t>(std::ranges::count(keys, ',')) + 1 < kFewKeys || keys.empty())
      append(keys, visible(key.substr(0, kLongestKey)));
  return keys.empty() ? "is an empty object" : "has the keys " + keys + (document.size() > kFewKeys ? ", …" : "");
}

std::optional<std::string> text_if_any(const JsonFields& from, const char* key) {
  std::optional<std::string> text = from.maybe_text(key);
  if (text && trimmed(*text).empty()) text.reset();
  return text;
}

std::optional<std::int64_t> whole_number(const std::string& text, std::int64_t most) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < 0 || value > most) return std::nullopt;
  return value;
}

}  // namespace epochbench
