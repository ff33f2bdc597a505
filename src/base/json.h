// Reading JSON that others wrote: it is checked and bounded before anything is built of it, and every error is one line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "src/base/errors.h"

namespace epochbench {

using Json = nlohmann::ordered_json;

inline constexpr std::size_t kMaxJsonDepth = 64;
// A value takes at most about 100 bytes of memory, so 2 GB in all. A run of 1,000 steps has 2,000 values.
inline constexpr std::size_t kMaxJsonValues = 20'000'000;
inline constexpr std::size_t kMaxJsonMembers = 256;  // of an object; they are looked up one by one

// `source` names the text in messages. Errors: FormatError for a text that is too large, not JSON, not UTF-8, nested too deep,
// has too many values or the same key twice; with the place and how to fix it.
Json parse_json(std::string_view text, const std::string& source);

// What parse_json checks before it builds anything, in time and memory in proportion to the text: a parser builds whatever a
// text says, and of two members with the same key it silently keeps one.
void check_json(std::string_view text, const std::string& source);

Json finite_or_null(double value);           // null stands for what is not known
Json text_or_null(const std::string& text);  // null where it is empty

// Objects are indented by two blanks, arrays of scalars are on one line; a number that is not finite becomes null, a byte that
// is not UTF-8 becomes U+FFFD.
std::string print_json(const Json& value);

// `path` is what messages name. Errors: FormatError for another type, and for a number outside 64 bits with a sign.
std::int64_t whole_number(const Json& value, const std::string& path);
std::string text_of(const Json& value, const std::string& path);

// Typed access to the members of an object. `where` is the path that messages name: "runs[3].timing".
// A member that is missing or of another type is a FormatError; maybe_* take a missing or null member as empty.
class JsonFields {
 public:
  JsonFields(const Json& value, std::string where);

  const Json& at(const char* key) const;
  const Json* find(const char* key) const;  // nullptr: missing or null
  JsonFields group(const char* key) const;
  std::optional<JsonFields> maybe_group(const char* key) const;
  std::vector<JsonFields> groups(const char* key) const;

  std::string text(const char* key) const;
  double number(const char* key) const;  // null is not a number: NaN
  std::int64_t integer(const char* key) const;
  std::uint64_t unsigned_integer(const char* key) const;
  std::vector<double> numbers(const char* key) const;
  std::vector<std::int64_t> integers(const char* key) const;
  std::vector<std::pair<std::int64_t, std::int64_t>> integer_pairs(const char* key) const;
  std::vector<std::string> texts(const char* key) const;

  std::optional<std::string> maybe_text(const char* key) const;
  std::optional<double> maybe_number(const char* key) const;
  std::optional<std::int64_t> maybe_integer(const char* key) const;
  std::optional<bool> maybe_boolean(const char* key) const;

  std::string path(const char* key) const { return where_ + "." + key; }
  const Json& value() const { return *value_; }

 private:
  const Json* value_;
  std::string where_;
};

}  // namespace epochbench
