#include "src/base/json_fields.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "src/base/text.h"

namespace epochbench {
namespace {

[[noreturn]] void wrong_type(const std::string& path, const char* expected, const Json& value) {
  throw FormatError(path + ": must be " + expected + ", not " + value.type_name());
}

// A number that a program with floats alone has written: 16.0. It must be exact.
std::optional<std::int64_t> whole_number(const Json& value) {
  constexpr double kMaxExact = std::int64_t{1} << 53;
  const double real = value.is_number_float() ? value.get<double>() : 0.5;
  return std::fabs(real) <= kMaxExact && real == std::trunc(real) ? std::optional(static_cast<std::int64_t>(real))
                                                                  : std::nullopt;
}

}  // namespace

void FieldWriter::put(const char* key, Json value, const Form& form) {
  const bool empty = value.empty() || value == "";
  if (empty && form.omitted_if_empty) return;
  if (form.hidden || (empty && form.null_if_empty)) value = nullptr;
  if (value.is_null() && form.default_text) value = form.default_text;
  if (form.keys.empty()) {
    object[key] = std::move(value);
    return;
  }
  for (const char* each : form.keys) object[key][each] = value.contains(each) ? value[each] : Json(nullptr);
}

void FieldReader::check(const Json& value, const std::string& path, const Form& form) {
  const auto require_positive = [](const Json& number, const std::string& where) {
    if (!number.is_number() || !(number.get<double>() > 0)) throw FormatError(where + ": must be above 0");
  };
  if (form.positive && value.is_array())
    for (std::size_t i = 0; i < value.size(); ++i) require_positive(value[i], path_of_element(path, i));
  else if (form.positive)
    require_positive(value, path);
  // Names contain the units, and a time is never negative.
  if (!form.any_sign && path.ends_with("seconds") && value.is_number() && value.get<double>() < 0)
    throw FormatError(path + ": a time must not be below 0");
  if ((form.minimum && value < *form.minimum) || (form.maximum && value > *form.maximum))
    throw FormatError(path + ": out of range");
}

const Json& require_array(const Json& value, const std::string& path) {
  if (!value.is_array()) wrong_type(path, "an array", value);
  return value;
}

template <>
JsonFields read_value(const Json& value, const std::string& path) {
  return {value, path};
}

template <>
bool read_value(const Json& value, const std::string& path) {
  if (!value.is_boolean()) wrong_type(path, "true or false", value);
  return value.get<bool>();
}

template <>
int read_value(const Json& value, const std::string& path) {
  const auto whole = read_value<std::int64_t>(value, path);
  if (!std::in_range<int>(whole)) throw FormatError(path + ": out of range");
  return static_cast<int>(whole);
}

template <>
std::int64_t read_value(const Json& value, const std::string& path) {
  if (const auto whole = whole_number(value)) return *whole;
  if (!value.is_number_integer()) wrong_type(path, "a whole number", value);
  if (value.is_number_unsigned() && !std::in_range<std::int64_t>(value.get<std::uint64_t>()))
    throw FormatError(path + ": too large");
  return value.get<std::int64_t>();
}

template <>
std::uint64_t read_value(const Json& value, const std::string& path) {
  if (const auto whole = whole_number(value); whole && *whole >= 0) return static_cast<std::uint64_t>(*whole);
  // A value that was set in memory from a signed type is stored as signed, even where it is not negative.
  if (!value.is_number_integer() || (!value.is_number_unsigned() && value.get<std::int64_t>() < 0))
    wrong_type(path, "a whole number of at least 0", value);
  return value.get<std::uint64_t>();
}

template <>
double read_value(const Json& value, const std::string& path) {
  if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (!value.is_number()) wrong_type(path, "a number", value);
  return value.get<double>();
}

// Most of a result is such lists, so a path is made only for an error.
template <>
std::vector<double> read_value(const Json& value, const std::string& path) {
  std::vector<double> result;
  result.reserve(require_array(value, path).size());
  for (const Json& element : value) {
    const bool known = element.is_number() || element.is_null();
    result.push_back(read_value<double>(element, known ? path : path_of_element(path, result.size())));
  }
  return result;
}

template <>
std::string read_value(const Json& value, const std::string& path) {
  if (!value.is_string()) wrong_type(path, "a string", value);
  return value.get<std::string>();
}

template Json json_of(const std::vector<std::string>&);
template Json json_of(const std::pair<double, double>&);
template std::vector<std::string> read_value(const Json&, const std::string& path);
template std::vector<JsonFields> read_value(const Json&, const std::string& path);

std::size_t read_choice(std::span<const char* const> choices, const Json& value, const std::string& path) {
  const auto text = read_value<std::string>(value, path);
  const auto found = std::ranges::find(choices, text, [](const char* choice) { return std::string_view(choice); });
  if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
  throw FormatError(path + ": must be one of " + joined(choices, [](const char* choice) { return choice; }) + ", not '" +
                    text.substr(0, 40) + "'");
}

JsonFields::JsonFields(const Json& value, std::string where) : value_(&value), where_(std::move(where)) {
  if (!value.is_object()) wrong_type(where_, "an object", value);
}

const Json& JsonFields::at(const char* key) const {
  const auto found = value_->find(key);
  if (found == value_->end()) throw FormatError(path(key) + ": missing");
  return *found;
}

const Json* JsonFields::find(const char* key) const {
  const auto found = value_->find(key);
  return found == value_->end() || found->is_null() ? nullptr : &*found;
}

}  // namespace epochbench
