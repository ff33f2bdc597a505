// Reading JSON that others wrote: it is checked and bounded before anything is built from it, and every error is one line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "src/base/errors.h"

namespace epochbench {

using Json = nlohmann::ordered_json;

inline constexpr std::size_t kMaxJsonDepth = 64;
// A value takes at most about 100 bytes of memory, so 2 GB in all. A run of 1,000 steps has 2,000 values.
inline constexpr std::size_t kMaxJsonValues = 20'000'000;
inline constexpr std::size_t kMaxJsonMembers = 256;  // of an object; look-up is linear

// What to do with a key that an object has twice. Published files of others stay as they are, and their own readers, in Python,
// take the last value.
enum class RepeatedKeys : std::uint8_t { refused, last_counts };

// `source` names the text in messages. All strings are made visible. Errors: FormatError, with the place and how to fix it, for
// a text that is too large, not JSON, not UTF-8 or nested too deeply, or has too many values or a repeated key that is refused.
Json parse_json(std::string_view text, const std::string& source, RepeatedKeys repeated = RepeatedKeys::refused);

// What parse_json checks before it builds anything, in time and memory proportional to the text: a parser builds whatever a
// text says.
void check_json(std::string_view text, const std::string& source, RepeatedKeys repeated);

// Makes every string in it visible (src/base/text.h), so that nothing from a file or a process can affect the terminal or the
// log that it is printed to.
void make_visible(Json& value);

Json finite_or_null(double value);           // null: not known
Json text_or_null(const std::string& text);  // null if it is empty

// Objects are indented by two blanks, arrays of scalars are on one line; a number that is not finite becomes null, a byte that
// is not UTF-8 becomes U+FFFD.
std::string print_json(const Json& value);

}  // namespace epochbench
