#include "src/base/numbers.h"

#include <charconv>
#include <cmath>
#include <cstdio>

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

}  // namespace

std::int64_t parse_integer(std::string_view text, std::int64_t minimum, std::int64_t maximum) {
  std::int64_t value = 0;
  if (!read_whole(text, value) || value < minimum || value > maximum)
    throw CallError(quoted(text) + " must be a whole number from " + std::to_string(minimum) + " to " +
                    std::to_string(maximum));
  return value;
}

std::uint64_t parse_seed(std::string_view text) {
  std::uint64_t value = 0;
  if (!read_whole(text, value)) throw CallError(quoted(text) + " must be a whole number from 0 to 18446744073709551615");
  return value;
}

double parse_real(std::string_view text, const RealRange& range) {
  double value = 0;
  const bool above = read_whole(text, value) && std::isfinite(value) &&
                     (range.minimum_included ? value >= range.minimum : value > range.minimum);
  if (!above || !(range.maximum_included ? value <= range.maximum : value < range.maximum))
    throw CallError(quoted(text) + " must be a number " + (range.minimum_included ? "from " : "above ") +
                    shortest(range.minimum) + (range.maximum_included ? " to " : " and below ") + shortest(range.maximum));
  return value;
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
  throw CallError(quoted(text) + " is unknown; choose from " + joined(choices));
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts = split(text);
  for (const std::string& part : parts)
    if (part.empty()) throw CallError("an empty value; give one, or several with a comma between them");
  return parts;
}

}  // namespace epochbench
