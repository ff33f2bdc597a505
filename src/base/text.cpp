#include "src/base/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <utility>

namespace epochbench {

void append(std::string& text, std::string_view part, std::string_view separator) {
  if (!text.empty() && !part.empty()) text += separator;
  text += part;
}

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  return joined(parts, std::identity(), separator);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string spaced(std::string identifier) {
  std::replace(identifier.begin(), identifier.end(), '_', ' ');
  return identifier;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  std::string result;
  std::size_t begin = 0;
  for (std::size_t at = 0; (at = text.find(from, begin)) != std::string::npos; begin = at + from.size())
    result.append(text, begin, at - begin).append(to);
  text = result.append(text, begin);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

CodePoint code_point_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(at);
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return {};
  std::uint32_t value = first & (0x7Fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return {};
    value = value << 6 | (byte(at + i) & 0x3F);
  }
  constexpr std::array<std::uint32_t, 5> kSmallest{0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  return value < kSmallest[bytes] || value > 0x10FFFF || surrogate ? CodePoint{} : CodePoint{value, bytes};
}

namespace {

bool is_visible(std::uint32_t value) {
  const auto within = [value](std::uint32_t first, std::uint32_t last) { return first <= value && value <= last; };
  return !(value < 0x20 || within(0x7F, 0x9F) || within(0x200E, 0x200F) || within(0x2028, 0x202E) || within(0x2066, 0x2069) ||
           value == 0xFEFF || (value & 0xFFFE) == 0xFFFE);
}

std::string escape_sequence(std::uint32_t value, bool is_byte) {
  switch (value) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      char escape[16];
      std::snprintf(escape, sizeof escape,
                    is_byte || value < 0x80 ? "\\x%02x"
                    : value <= 0xFFFF       ? "\\u%04x"
                                            : "\\U%08x",
                    value);
      return escape;
  }
}

}  // namespace

std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:=,+-@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string quoted = visible(text);
  replace_all(quoted, "'", "'\\''");
  return "'" + quoted + "'";
}

std::optional<std::vector<std::string>> split_command(std::string_view text) {
  std::vector<std::string> parts;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool blank = c == ' ' || c == '\t' || c == '\n';
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
      in_word = true;
    } else if (quote == 0 && blank) {
      if (in_word) parts.push_back(std::exchange(word, {}));
      in_word = false;
    } else {
      if (c == '\\' && quote != '\'' && ++at == text.size()) return std::nullopt;
      word += text[at];
      in_word = true;
    }
  }
  if (quote != 0) return std::nullopt;
  if (in_word) parts.push_back(word);
  return parts;
}

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
}

std::string visible(std::string_view text) {
  if (std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; })) return std::string(text);
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const auto [value, bytes] = code_point_at(text, at);
    if (bytes == 0)
      result += escape_sequence(static_cast<unsigned char>(text[at]), true);
    else
      result += is_visible(value) ? std::string(text.substr(at, bytes)) : escape_sequence(value, false);
    at += std::max<std::size_t>(bytes, 1);
  }
  return result;
}

namespace {

// As names are compared: "ResNet-50" as "resnet50", without what a document or a shell puts around a name.
std::string plain(std::string_view name) {
  std::string text;
  for (const char c : name)
    if (c > ' ' && c <= '~' && std::string_view("-_\"'`").find(c) == std::string_view::npos)
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// Insertions, deletions, replacements and swaps of neighbors that turn `a` into `b`.
std::size_t typing_errors(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> errors(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i)
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        errors[i][j] = i + j;
        continue;
      }
      errors[i][j] = std::min({errors[i - 1][j] + 1, errors[i][j - 1] + 1, errors[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        errors[i][j] = std::min(errors[i][j], errors[i - 2][j - 2] + 1);
    }
  return errors[a.size()][b.size()];
}

}  // namespace

std::vector<std::string> nearest(std::string_view given, const std::vector<std::string>& names) {
  constexpr std::size_t kMax = 3, kLongest = 64, kShortestBeginning = 2;
  const std::string wanted = plain(given);
  if (wanted.empty() || wanted.size() > kLongest) return {};
  std::vector<std::pair<std::size_t, std::string>> near;
  std::size_t least = 1 + wanted.size() / 8;  // typing errors in a name that is still near: budget is not bucket
  for (const std::string& name : names) {
    const std::string other = plain(name);
    const bool begins =
        std::min(wanted.size(), other.size()) >= kShortestBeginning && (other.starts_with(wanted) || wanted.starts_with(other));
    std::size_t apart = typing_errors(wanted, other);
    if (begins) apart = std::min<std::size_t>(apart, 1);
    if (apart > least || apart >= wanted.size()) continue;
    least = apart;
    near.emplace_back(apart, name);
  }
  std::vector<std::string> nearest_names;
  for (const auto& [apart, name] : near)
    if (apart == least && nearest_names.size() < kMax) nearest_names.push_back(name);
  return nearest_names;
}

std::string did_you_mean(std::string_view given, const std::vector<std::string>& names) {
  const std::vector<std::string> near = nearest(given, names);
  if (near.empty()) return "";
  std::string text = "; did you mean " + near.front();
  for (std::size_t i = 1; i < near.size(); ++i) text += (i + 1 < near.size() ? ", " : " or ") + near[i];
  return text + "?";
}

}  // namespace epochbench
