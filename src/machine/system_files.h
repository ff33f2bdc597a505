// Reading the small text files of /proc and /sys.
#pragma once

#include <cstdint>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/files.h"
#include "src/base/text.h"

namespace epochbench {

// The text's first line without the spaces around it.
inline std::string first_line(std::string_view text) { return std::string(trimmed(text.substr(0, text.find('\n')))); }

inline std::optional<std::int64_t> parse_number(const std::string& text) {
  try {
    return std::stoll(text);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

inline std::optional<std::string> read_line(const std::string& path) {
  const auto text = read_system_file(path);
  return text ? std::optional(first_line(*text)) : std::nullopt;
}

inline std::optional<std::int64_t> read_number(const std::string& path) {
  const auto text = read_system_file(path);
  return text ? parse_number(*text) : std::nullopt;
}

// The number after `key` at the beginning of a line: "MemAvailable:  123 kB", "oom_kill 4".
inline std::optional<std::int64_t> read_keyed_number(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.size() > key.size() && line.compare(0, key.size(), key) == 0 &&
        (line[key.size()] == ' ' || line[key.size()] == '\t'))
      return parse_number(line.substr(key.size()));
  return std::nullopt;
}

// The value of a file's first line "key : value" for which `wanted` returns true. The rest of the file is not read.
inline std::optional<std::string> find_field(
    const std::string& path, char separator,
    const std::function<bool(std::string_view key, const std::string& value)>& wanted) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t at = line.find(separator);
    if (at == std::string::npos) continue;
    const std::string value(trimmed(std::string_view(line).substr(at + 1)));
    if (wanted(trimmed(std::string_view(line).substr(0, at)), value)) return value;
  }
  return std::nullopt;
}

// "0-3,8" -> 0 1 2 3 8
inline std::vector<int> parse_cpu_list(const std::string& text) {
  std::vector<int> cpus;
  for (const std::string& part : split(text)) {
    const auto first = parse_number(part);
    if (!first) break;
    const std::size_t dash = part.find('-');
    const auto last = dash == std::string::npos ? first : parse_number(part.substr(dash + 1));
    for (std::int64_t cpu = *first; last && cpu <= *last && cpus.size() < 65536; ++cpu) cpus.push_back(static_cast<int>(cpu));
  }
  return cpus;
}

}  // namespace epochbench
