// Numbers as people type them, checked to the last character, and as messages print them. Numbers with units: units.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace epochbench {

// Decimal digits with an optional sign, nothing else. Errors: CallError with the range.
std::int64_t parse_integer(std::string_view text, std::int64_t minimum, std::int64_t maximum);
std::uint64_t parse_seed(std::string_view text);

struct RealRange {
  double minimum, maximum;
  bool minimum_included = true, maximum_included = true;
};
// A finite decimal number: "0.5", "1e-3". Errors: CallError with the range.
double parse_real(std::string_view text, const RealRange& range);

// One of the choices. Errors: CallError that lists them.
std::string parse_word(std::string_view text, const std::vector<std::string>& choices);

// "a,b" -> {"a", "b"}. Errors: CallError for an empty text or part.
std::vector<std::string> split_list(std::string_view text);

std::string shortest(double value);                      // the fewest digits that read back as the same number
std::string short_number(double value, int digits = 4);  // "0.9733", "1e+06", "nan"

}  // namespace epochbench
