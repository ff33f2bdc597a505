// A struct as a JSON object and back, by its list of fields (fields.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/base/fields.h"
#include "src/base/json.h"

namespace epochbench {

// For a type with its own form, such as an enum: specialize it with
//   static Json write(const T& value);
//   static T read(const Json& value, const std::string& path);  // FormatError that begins with the path
template <class T>
struct JsonConversion;

template <class T>
concept HasJsonConversion = requires(const T& value) {
  JsonConversion<T>::write(value);
};

template <class T, template <class...> class Template>
inline constexpr bool kIsA = false;
template <class... Arguments, template <class...> class Template>
inline constexpr bool kIsA<Template<Arguments...>, Template> = true;

template <class T>
Json json_of(const T& value);

class FieldWriter {
 public:
  Json object = Json::object();

  void operator()(const char* key, const auto& member, const Form& form = {}) { put(key, json_of(member), form); }
  void group(const char* key, const auto& list) {
    FieldWriter part;
    list(part);
    object[key] = std::move(part.object);
  }

 private:
  void put(const char* key, Json value, const Form& form);
};

template <class T>
Json json_of(const T& value) {
  if constexpr (HasJsonConversion<T>) {
    return JsonConversion<T>::write(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    return finite_or_null(value);
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    return value;
  } else if constexpr (kIsA<T, std::optional>) {
    return value ? json_of(*value) : Json(nullptr);
  } else if constexpr (kIsA<T, std::pair>) {
    return Json::array({json_of(value.first), json_of(value.second)});
  } else if constexpr (kIsA<T, std::vector>) {
    Json list = Json::array();
    for (const auto& element : value) list.push_back(json_of(element));
    return list;
  } else if constexpr (kIsA<T, std::map>) {
    Json object = Json::object();
    for (const auto& [key, member] : value) object[key] = json_of(member);
    return object;
  } else {
    FieldWriter writer;
    fields(writer, value);
    return std::move(writer.object);
  }
}

// Reading. `path` is what messages name: "runs[3].timing". Errors of all that follow: FormatError for a value that is missing,
// of another type or out of range.
template <class T>
T read_value(const Json& value, const std::string& path);

class JsonFields;
template <>
JsonFields read_value(const Json& value, const std::string& path);
template <>
bool read_value(const Json& value, const std::string& path);
template <>
int read_value(const Json& value, const std::string& path);
template <>
std::int64_t read_value(const Json& value, const std::string& path);
template <>
std::uint64_t read_value(const Json& value, const std::string& path);
template <>
double read_value(const Json& value, const std::string& path);  // null as NaN
template <>
std::vector<double> read_value(const Json& value, const std::string& path);
template <>
std::string read_value(const Json& value, const std::string& path);

// Instantiated only in json_fields.cpp.
extern template Json json_of(const std::vector<std::string>&);
extern template Json json_of(const std::pair<double, double>&);
extern template std::vector<std::string> read_value(const Json&, const std::string& path);
extern template std::vector<JsonFields> read_value(const Json&, const std::string& path);

// Typed access to the members of an object. maybe_* take a missing or null member as empty.
class JsonFields {
 public:
  JsonFields(const Json& value, std::string where);

  const Json& at(const char* key) const;
  const Json* find(const char* key) const;  // nullptr: missing or null
  std::string path(const char* key) const { return where_ + "." + key; }

  template <class T>
  T get(const char* key) const {
    return read_value<T>(at(key), path(key));
  }
  template <class T>
  std::optional<T> maybe(const char* key) const {
    return find(key) ? std::optional(get<T>(key)) : std::nullopt;
  }
  std::string text(const char* key) const { return get<std::string>(key); }
  double number(const char* key) const { return get<double>(key); }
  std::int64_t integer(const char* key) const { return get<std::int64_t>(key); }
  std::vector<std::string> texts(const char* key) const { return get<std::vector<std::string>>(key); }
  std::vector<JsonFields> groups(const char* key) const { return get<std::vector<JsonFields>>(key); }
  std::optional<std::string> maybe_text(const char* key) const { return maybe<std::string>(key); }
  std::optional<double> maybe_number(const char* key) const { return maybe<double>(key); }
  std::optional<JsonFields> maybe_group(const char* key) const { return maybe<JsonFields>(key); }

 private:
  const Json* value_;
  std::string where_;
};

class FieldReader {
 public:
  explicit FieldReader(JsonFields from) : from_(std::move(from)) {}

  template <class T>
  void operator()(const char* key, T& member, const Form& form = {}) {
    constexpr bool kMayBeMissing = std::is_same_v<T, bool> || kIsA<T, std::optional> || kIsA<T, std::map>;
    const Json* value = from_.find(key);
    if (!value && (kMayBeMissing || form.may_be_missing())) return;
    member = from_.get<T>(key);
    if (value) check(*value, from_.path(key), form);
  }
  void group(const char* key, const auto& list) {
    static const Json kNothing = Json::object();
    FieldReader part(from_.maybe_group(key).value_or(JsonFields(kNothing, from_.path(key))));
    list(part);
  }

 private:
  static void check(const Json& value, const std::string& path, const Form& form);

  JsonFields from_;
};

const Json& require_array(const Json& value, const std::string& path);
// The index of a text among `choices`.
std::size_t read_choice(std::span<const char* const> choices, const Json& value, const std::string& path);
inline std::string path_of_element(const std::string& path, std::size_t index) {
  return path + "[" + std::to_string(index) + "]";
}

template <class T>
T read_value(const Json& value, const std::string& path) {
  T result{};
  if constexpr (HasJsonConversion<T>) {
    result = JsonConversion<T>::read(value, path);
  } else if constexpr (kIsA<T, std::optional>) {
    if (!value.is_null()) result = read_value<typename T::value_type>(value, path);
  } else if constexpr (kIsA<T, std::pair>) {
    if (!value.is_array() || value.size() != 2) throw FormatError(path + ": must have two numbers");
    result.first = read_value<typename T::first_type>(value[0], path_of_element(path, 0));
    result.second = read_value<typename T::second_type>(value[1], path_of_element(path, 1));
  } else if constexpr (kIsA<T, std::vector>) {
    for (const Json& element : require_array(value, path))
      result.push_back(read_value<typename T::value_type>(element, path_of_element(path, result.size())));
  } else if constexpr (kIsA<T, std::map>) {
    const JsonFields entries(value, path);
    for (const auto& [key, entry] : value.items())
      result[key] = read_value<typename T::mapped_type>(entry, entries.path(key.c_str()));
  } else {
    FieldReader reader(JsonFields(value, path));
    fields(reader, result);
  }
  return result;
}

}  // namespace epochbench
