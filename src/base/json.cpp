#include "src/base/json.h"

#include <cmath>
#include <limits>

#include "src/base/files.h"

namespace epochbench {
namespace {

std::string scalar(const Json& value) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) return "null";
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void print(const Json& value, std::size_t indent, std::string& out) {
  if (!value.is_structured() || value.empty()) {
    out += scalar(value);
    return;
  }
  const std::string inner(indent + 2, ' ');
  if (value.is_object()) {
    const char* separator = "{\n";
    for (const auto& [key, member] : value.items()) {
      out += separator + inner + scalar(key) + ": ";
      print(member, indent + 2, out);
      separator = ",\n";
    }
    out += "\n" + std::string(indent, ' ') + "}";
    return;
  }
  bool flat = true;
  for (const Json& element : value) flat = flat && !element.is_structured();
  const char* separator = "";
  out += "[";
  for (const Json& element : value) {
    out += separator;
    if (!flat) out += "\n" + inner;
    print(element, indent + 2, out);
    separator = flat ? ", " : ",";
  }
  out += flat ? "]" : "\n" + std::string(indent, ' ') + "]";
}

[[noreturn]] void wrong_type(const std::string& path, const char* expected, const Json& value) {
  throw FormatError(path + ": must be " + expected + ", not " + value.type_name());
}

}  // namespace

std::int64_t whole_number(const Json& value, const std::string& path) {
  if (!value.is_number_integer()) wrong_type(path, "a whole number", value);
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
    throw FormatError(path + ": too large");
  return value.get<std::int64_t>();
}

std::string text_of(const Json& value, const std::string& path) {
  if (!value.is_string()) wrong_type(path, "a string", value);
  return value.get<std::string>();
}

Json parse_json(std::string_view text, const std::string& source) {
  require_at_most(kMaxTextBytes, text.size(), source);
  check_json(text, source);
  return Json::parse(text.begin(), text.end());
}

Json finite_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

std::string print_json(const Json& value) {
  std::string out;
  print(value, 0, out);
  return out + "\n";
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

JsonFields JsonFields::group(const char* key) const { return {at(key), path(key)}; }

std::optional<JsonFields> JsonFields::maybe_group(const char* key) const {
  if (!find(key)) return std::nullopt;
  return group(key);
}

std::vector<JsonFields> JsonFields::groups(const char* key) const {
  const Json& list = at(key);
  if (!list.is_array()) wrong_type(path(key), "an array", list);
  std::vector<JsonFields> result;
  for (const Json& element : list) result.emplace_back(element, path(key) + "[" + std::to_string(result.size()) + "]");
  return result;
}

std::string JsonFields::text(const char* key) const { return text_of(at(key), path(key)); }

double JsonFields::number(const char* key) const {
  const Json& value = at(key);
  if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (!value.is_number()) wrong_type(path(key), "a number", value);
  return value.get<double>();
}

std::int64_t JsonFields::integer(const char* key) const { return whole_number(at(key), path(key)); }

std::uint64_t JsonFields::unsigned_integer(const char* key) const {
  const Json& value = at(key);
  // A value that was set in memory from a signed type is stored as signed, even where it is not negative.
  if (!value.is_number_integer() || (!value.is_number_unsigned() && value.get<std::int64_t>() < 0))
    wrong_type(path(key), "a whole number of at least 0", value);
  return value.get<std::uint64_t>();
}

std::vector<double> JsonFields::numbers(const char* key) const {
  const Json& list = at(key);
  if (!list.is_array()) wrong_type(path(key), "an array of numbers", list);
  std::vector<double> result;
  result.reserve(list.size());
  for (const Json& element : list) {
    if (!element.is_number() && !element.is_null()) wrong_type(path(key), "an array of numbers", element);
    result.push_back(element.is_null() ? std::numeric_limits<double>::quiet_NaN() : element.get<double>());
  }
  return result;
}

std::vector<std::int64_t> JsonFields::integers(const char* key) const {
  const Json& list = at(key);
  if (!list.is_array()) wrong_type(path(key), "an array of whole numbers", list);
  std::vector<std::int64_t> result;
  for (const Json& element : list)
    result.push_back(whole_number(element, path(key) + "[" + std::to_string(result.size()) + "]"));
  return result;
}

std::vector<std::pair<std::int64_t, std::int64_t>> JsonFields::integer_pairs(const char* key) const {
  const auto wrong = [&] { return FormatError(path(key) + ": must be an array of pairs of whole numbers"); };
  const Json& list = at(key);
  if (!list.is_array()) throw wrong();
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  for (const Json& pair : list) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number_integer() || !pair[1].is_number_integer()) throw wrong();
    const std::string where = path(key) + "[" + std::to_string(pairs.size()) + "]";
    pairs.emplace_back(whole_number(pair[0], where), whole_number(pair[1], where));
  }
  return pairs;
}

std::vector<std::string> JsonFields::texts(const char* key) const {
  const Json& list = at(key);
  if (!list.is_array()) wrong_type(path(key), "an array of strings", list);
  std::vector<std::string> result;
  for (const Json& element : list) {
    if (!element.is_string()) wrong_type(path(key), "an array of strings", element);
    result.push_back(element.get<std::string>());
  }
  return result;
}

std::optional<std::string> JsonFields::maybe_text(const char* key) const {
  if (!find(key)) return std::nullopt;
  return text(key);
}

std::optional<double> JsonFields::maybe_number(const char* key) const {
  if (!find(key)) return std::nullopt;
  return number(key);
}

std::optional<std::int64_t> JsonFields::maybe_integer(const char* key) const {
  if (!find(key)) return std::nullopt;
  return integer(key);
}

std::optional<bool> JsonFields::maybe_boolean(const char* key) const {
  const Json* value = find(key);
  if (!value) return std::nullopt;
  if (!value->is_boolean()) wrong_type(path(key), "true or false", *value);
  return value->get<bool>();
}

}  // namespace epochbench
