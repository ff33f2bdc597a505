// Numbers as people type them, checked to the last character, and as people read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

// A share: "3" and "3%" are 0.03. Errors: CallError unless it is above 0 and at most 1000 %.
double parse_percent(std::string_view text);

// The number in what people write around one, as parse_integer() and parse_real() read it: "1k" as "1000", "1_024" as "1024",
// "0,001" as "0.001", "97%" as "0.97", "$0.36/h" as "0.36", "500ms" as "0.5". Empty: there is none.
std::string number_meant(std::string_view text);

// "8" and "64" of "8..64", "8-64" and "8:64". Empty: not a range of whole numbers.
std::optional<std::pair<std::string, std::string>> ends_of_range(std::string_view text);

// The same, as functions of the text alone, for tables of options.
template <class Number = std::int64_t>
auto whole(std::int64_t minimum, std::int64_t maximum) {
  return [=](const std::string& text) { return static_cast<Number>(parse_integer(text, minimum, maximum)); };
}
inline auto real(RealRange range) {
  return [=](const std::string& text) { return parse_real(text, range); };
}

// One of the choices. Errors: CallError that lists them.
std::string parse_word(std::string_view text, const std::vector<std::string>& choices);

// "a,b" -> {"a", "b"}. Errors: CallError for an empty text or part.
std::vector<std::string> split_list(std::string_view text);

std::string shortest(double value);                      // the fewest digits that read back as the same number
std::string short_number(double value, int digits = 4);  // "0.9733", "1e+06", "nan"

// For people: three significant digits and a unit. Arguments are in SI base units.
std::string significant(double value, int digits);      // "0.00123", "12.3", "1230", "4.56e-07", "1.00e+15"
std::string format_seconds(double seconds);             // "1.23 µs", "4.56 s", "3 min 20 s", "2.1 h", "3.4 d"
std::string format_si(double value, const char* unit);  // "1.23 GFLOP/s"
std::string format_bytes(double bytes);                 // "1.2 GiB"
std::string format_percent(double fraction);            // "97.2 %"
std::string format_usd(double usd);                     // "$0.000036", "$0.357", "$12.30"
std::string format_count(std::int64_t count);           // "1,281,167"
std::string counted(std::size_t count, const char* one, const char* several);  // "1 run", "2,000 runs"
std::string format_whole(double value);                                        // "1,281,167", "1.00e+15"
std::string format_rate(double per_second);                                    // "12.3", "1,281"
std::string format_times(double ratio);                                        // "1.23x"

}  // namespace epochbench
