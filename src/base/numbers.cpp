#include "src/base/numbers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <utility>

#include "src/base/errors.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

template <typename Number>
bool read_whole(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// By value: other programs write 16 as 16.0 or 1.6e1. As a double it must be exact.
template <typename Number>
bool read_integer(std::string_view text, Number& value) {
  constexpr double kMaxExact = std::int64_t{1} << 53;
  double real = 0;
  if (read_whole(text, value)) return true;
  if (!read_whole(text, real) || std::fabs(real) > kMaxExact || real != std::trunc(real)) return false;
  value = static_cast<Number>(real);
  return std::in_range<Number>(static_cast<std::int64_t>(real));
}

// What people write behind a number, and by how much it multiplies.
struct Suffix {
  std::string_view text;
  double factor;
};
constexpr std::array kSuffixes{Suffix{"", 1},     Suffix{"k", 1e3},   Suffix{"K", 1e3}, Suffix{"M", 1e6},
                               Suffix{"%", 0.01}, Suffix{"ms", 1e-3}, Suffix{"s", 1},   Suffix{"m", 60},
                               Suffix{"min", 60}, Suffix{"h", 3600},  Suffix{"/h", 1}};

// "1000", "0.999": without the rounding error of a product.
std::string written(double value) {
  constexpr double kMaxDigits = 1e15;
  constexpr int kDigits = 12;
  return value == std::trunc(value) && std::fabs(value) < kMaxDigits ? std::to_string(static_cast<std::int64_t>(value))
                                                                     : short_number(value, kDigits);
}

// "; did you mean 1000?", where `text` is what people write for a number that would be allowed.
std::string did_you_mean_number(std::string_view text, const std::function<bool(const std::string&)>& allowed) {
  const std::string meant = number_meant(text);
  return !meant.empty() && allowed(meant) ? "; did you mean " + meant + "?" : "";
}

std::string fixed(double value, int decimals) {
  std::array<char, 400> text{};  // the largest double has 309 digits
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

std::string scientific(double value, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*e", digits - 1, value);
  return text.data();
}

std::string rounded(double value, int digits) {
  if (!std::isfinite(value)) return "-";
  if (value == 0) return "0";
  // The rounded number decides how many digits precede the point: 9.996 is 10.0.
  const double magnitude = std::pow(10, std::floor(std::log10(std::fabs(value))) - digits + 1);
  if (!std::isnormal(magnitude)) return scientific(value, digits);  // too small to divide by
  const double nearest = std::round(value / magnitude) * magnitude;
  const int before = static_cast<int>(std::floor(std::log10(std::fabs(nearest)))) + 1;
  return fixed(nearest, std::max(0, digits - before));
}

std::string scaled(double value, double base, const char* const* prefixes, int count, const std::string& unit) {
  int step = 0;
  // 999.5 would print as 1000 at three digits, so the next prefix begins there.
  while (step + 1 < count && std::fabs(value) >= base - 0.5) {
    value /= base;
    ++step;
  }
  return significant(value, 3) + " " + prefixes[step] + unit;
}

}  // namespace

std::string number_meant(std::string_view text) {
  std::string digits;
  for (const char c : trimmed(text))
    if (c != '$' && c != '_') digits += c;
  const std::string suffix = digits.substr(digits.find_last_of("0123456789.") + 1);
  const auto known = std::ranges::find(kSuffixes, suffix, &Suffix::text);
  digits.resize(digits.size() - suffix.size());
  constexpr std::size_t kThousands = 3;
  if (const std::size_t comma = digits.find(','); comma != std::string::npos) {
    const bool thousands = digits.size() - comma - 1 == kThousands && digits.front() != '0';
    thousands ? digits.erase(comma, 1) : digits.replace(comma, 1, ".");
  }
  double value = 0;
  return known != kSuffixes.end() && read_whole(digits, value) ? written(value * known->factor) : "";
}

std::optional<std::pair<std::string, std::string>> ends_of_range(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  const std::size_t end = text.find_first_not_of(kDigits), begin = text.find_last_not_of(kDigits) + 1;
  if (end == std::string_view::npos || end == 0 || begin == text.size()) return std::nullopt;
  const std::string_view between = text.substr(end, begin - end);
  if (between != "-" && between != ":" && between != ".." && between != "...") return std::nullopt;
  return std::pair(std::string(text.substr(0, end)), std::string(text.substr(begin)));
}

std::int64_t parse_integer(std::string_view text, std::int64_t minimum, std::int64_t maximum) {
  std::int64_t value = 0;
  const auto allowed = [&](std::string_view number) {
    return read_integer(number, value) && value >= minimum && value <= maximum;
  };
  if (allowed(text)) return value;
  throw CallError(quoted(text) + " must be a whole number from " + std::to_string(minimum) + " to " + std::to_string(maximum) +
                  did_you_mean_number(text, allowed));
}

std::uint64_t parse_seed(std::string_view text) {
  std::uint64_t value = 0;
  if (!read_integer(text, value)) throw CallError(quoted(text) + " must be a whole number from 0 to 18446744073709551615");
  return value;
}

double parse_real(std::string_view text, const RealRange& range) {
  double value = 0;
  const auto allowed = [&](std::string_view number) {
    return read_whole(number, value) && std::isfinite(value) &&
           (range.minimum_included ? value >= range.minimum : value > range.minimum) &&
           (range.maximum_included ? value <= range.maximum : value < range.maximum);
  };
  if (allowed(text)) return value;
  std::string limits = (range.minimum_included ? "from " : "above ") + written(range.minimum);
  if (range.maximum < std::numeric_limits<float>::max())
    limits += (!range.maximum_included  ? " and below "
               : range.minimum_included ? " to "
                                        : " and at most ") +
              written(range.maximum);
  throw CallError(quoted(text) + " must be a number " + limits + did_you_mean_number(text, allowed));
}

double parse_percent(std::string_view text) {
  constexpr double kMax = 1000, kPercent = 100;
  if (text.ends_with('%')) text.remove_suffix(1);
  return parse_real(text, {0, kMax, false, true}) / kPercent;
}

std::string shortest(double value) {
  char text[32];
  const auto result = std::to_chars(text, text + sizeof text, value);
  return std::string(text, result.ptr);
}

std::string short_number(double value, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}

std::string parse_word(std::string_view text, const std::vector<std::string>& choices) {
  for (const std::string& choice : choices)
    if (text == choice) return choice;
  throw CallError(quoted(text) + " is unknown; choose from " + joined(choices) + did_you_mean(text, choices));
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts = split(text);
  for (const std::string& part : parts) {
    if (part.empty()) throw CallError("an empty value; give one, or several with a comma between them");
    if (part.size() > 1 && &part != &parts.front() && part.front() == '0' &&
        part.find_first_not_of("0123456789") == std::string::npos)
      throw CallError(quoted(text) +
                      " has a number with a leading zero: a comma stands between several values, not between digits");
  }
  return parts;
}

std::string significant(double value, int digits) {
  const double size = std::fabs(value);
  if (!std::isfinite(value) || value == 0 || (size >= 1e-4 && size < 1e15)) return rounded(value, digits);
  return scientific(value, digits);
}

std::string format_seconds(double seconds) {
  if (!std::isfinite(seconds)) return "-";
  // From these on, three digits round up to the next unit.
  if (seconds < 0.9995e-3) return significant(seconds * 1e6, 3) + " µs";
  if (seconds < 0.9995) return significant(seconds * 1e3, 3) + " ms";
  if (seconds < 59.95) return significant(seconds, 3) + " s";
  const auto whole = std::llround(seconds);
  if (whole < 3600) return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
  if (seconds < 23.95 * 3600) return significant(seconds / 3600, 3) + " h";
  return significant(seconds / 86400, 3) + " d";
}

std::string format_si(double value, const char* unit) {
  static constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  return scaled(value, 1000, kPrefixes, 7, unit);
}

std::string format_bytes(double bytes) {
  static constexpr const char* kPrefixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};
  return scaled(bytes, 1024, kPrefixes, 6, "B");
}

std::string format_percent(double fraction) {
  if (!std::isfinite(fraction * 100)) return "-";
  return fixed(fraction * 100, std::fabs(fraction) < 0.1 ? 2 : 1) + " %";
}

std::string format_usd(double usd) {
  constexpr double kCent = 0.01, kMin = 1e-6;
  if (usd > 0 && usd < kMin) return "< $0.000001";
  if (usd > 0 && usd < kCent) return "$" + fixed(usd, 1 - static_cast<int>(std::floor(std::log10(usd))));
  if (!(std::fabs(usd) >= 1)) return "$" + rounded(usd, 3);
  std::string text = fixed(usd, 2);
  for (std::size_t at = text.size() - std::string_view(".00").size(); at > (usd < 0 ? 4u : 3u);) text.insert(at -= 3, ",");
  return "$" + text;
}

std::string format_count(std::int64_t count) {
  std::string digits = std::to_string(count);
  for (int at = static_cast<int>(digits.size()) - 3; at > (count < 0 ? 1 : 0); at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

std::string counted(std::size_t count, const char* one, const char* several) {
  return format_count(static_cast<std::int64_t>(count)) + " " + (count == 1 ? one : several);
}

std::string format_whole(double value) {
  constexpr double kMaxDigits = 1e15;  // as in significant()
  return std::fabs(value) < kMaxDigits ? format_count(std::llround(value)) : significant(value, 3);
}

std::string format_rate(double per_second) {
  return per_second >= 1000 ? format_whole(per_second) : significant(per_second, 3);
}

std::string format_times(double ratio) { return significant(ratio, 3) + "x"; }

}  // namespace epochbench
