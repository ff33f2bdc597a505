// A struct as a JSON object and back, by its list of fields (fields.h).
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/base/fields.h"
#include "src/base/json.h"

namespace epochbench {

// For a type with a form of its own, such as an enum: specialize it with
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

  template <class T>
  void operator()(const char* key, const T& member) {
    if constexpr (kIsA<T, OmittedIfEmpty>) {
      if (Json value = json_of(member.member); !value.empty()) object[key] = std::move(value);
    } else {
      object[key] = json_of(member);
    }
  }
  void group(const char* key, const auto& list) {
    FieldWriter part;
    list(part);
    object[key] = std::move(part.object);
  }
};

template <class T>
Json json_of(const Addition<T>& form) {
  return json_of(form.member);
}
template <class T>
Json json_of(const Positive<T>& form) {
  return json_of(form.member);
}
template <class T>
Json json_of(const Within<T>& form) {
  return json_of(form.member);
}
template <class T>
Json json_of(const NullIfEmpty<T>& form) {
  return form.member.empty() ? Json(nullptr) : json_of(form.member);
}
template <class T>
Json json_of(const OnlyIf<T>& form) {
  return form.condition ? json_of(form.member) : Json(nullptr);
}
template <class T>
Json json_of(const WithDefault<T>& form) {
  return form.member.value_or(form.text);
}
template <class T>
Json json_of(const WithKeys<T>& form) {
  Json object = Json::object();
  for (const char* key : form.keys) {
    const auto found = form.member.find(key);
    object[key] = found == form.member.end() ? Json(nullptr) : json_of(found->second);
  }
  return object;
}
template <class T>
Json json_of(const Ends<T>& form) {
  return Json::array({json_of(form.low), json_of(form.high)});
}

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

template <class T>
requires(!FieldForm<T>) void read_member(const JsonFields& from, const char* key, T& member);

class FieldReader {
 public:
  explicit FieldReader(JsonFields from) : from_(std::move(from)) {}

  template <class T>
  void operator()(const char* key, T&& member) {
    read_member(from_, key, member);
  }
  void group(const char* key, const auto& list) {
    static const Json kNothing = Json::object();
    FieldReader part(from_.maybe_group(key).value_or(JsonFields(kNothing, from_.path(key))));
    list(part);
  }

 private:
  JsonFields from_;
};

// Errors of all that read: FormatError, with the path of the member.
template <class T>
T read_fields(const JsonFields& from) {
  T value;
  FieldReader reader(from);
  fields(reader, value);
  return value;
}

template <class T>
void read_member(const JsonFields& from, const char* key, const Addition<T>& form) {
  if (from.find(key)) read_member(from, key, form.member);
}
template <class T>
void read_member(const JsonFields& from, const char* key, const Positive<T>& form) {
  read_member(from, key, form.member);
  const auto check = [&](double number, const std::string& path) {
    if (!(number > 0)) throw FormatError(path + ": must be above 0");
  };
  if constexpr (kIsA<T, std::vector>) {
    for (std::size_t i = 0; i < form.member.size(); ++i) check(form.member[i], from.path(key) + "[" + std::to_string(i) + "]");
  } else {
    if (form.member) check(*form.member, from.path(key));
  }
}
template <class T>
void read_member(const JsonFields& from, const char* key, const Within<T>& form) {
  const std::optional<std::int64_t> value = kIsA<T, std::optional> ? from.maybe_integer(key) : from.integer(key);
  if (value && (*value < form.minimum || *value > form.maximum)) throw FormatError(from.path(key) + ": out of range");
  read_member(from, key, form.member);
}
template <class T>
void read_member(const JsonFields& from, const char* key, const NullIfEmpty<T>& form) {
  if (from.find(key)) read_member(from, key, form.member);
}
template <class T>
void read_member(const JsonFields& from, const char* key, const OmittedIfEmpty<T>& form) {
  if (from.find(key)) read_member(from, key, form.member);
}
template <class T>
void read_member(const JsonFields& from, const char* key, const OnlyIf<T>& form) {
  read_member(from, key, form.member);
}
template <class T>
void read_member(const JsonFields& from, const char* key, const WithDefault<T>& form) {
  read_member(from, key, form.member);
}
template <class T>
void read_member(const JsonFields& from, const char* key, const WithKeys<T>& form) {
  read_member(from, key, form.member);
}
template <class T>
void read_member(const JsonFields& from, const char* key, const Ends<T>& form) {
  const Json& both = from.at(key);
  if (!both.is_array() || both.size() != 2) throw FormatError(from.path(key) + ": must have two ends");
  if (both[0].is_number()) form.low = both[0].get<double>();
  if (both[1].is_number()) form.high = both[1].get<double>();
}

template <class T>
void read_list(const JsonFields& from, const char* key, std::vector<T>& list) {
  if constexpr (std::is_same_v<T, double>) {
    list = from.numbers(key);
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    list = from.integers(key);
  } else if constexpr (std::is_same_v<T, std::string>) {
    list = from.texts(key);
  } else if constexpr (std::is_same_v<T, std::pair<std::int64_t, std::int64_t>>) {
    list = from.integer_pairs(key);
  } else if constexpr (HasJsonConversion<T>) {
    const Json& elements = from.at(key);
    if (!elements.is_array()) throw FormatError(from.path(key) + ": must be an array");
    list.clear();
    for (const Json& element : elements)
      list.push_back(JsonConversion<T>::read(element, from.path(key) + "[" + std::to_string(list.size()) + "]"));
  } else {
    list.clear();
    for (const JsonFields& element : from.groups(key)) list.push_back(read_fields<T>(element));
  }
}

template <class T>
requires(!FieldForm<T>) void read_member(const JsonFields& from, const char* key, T& member) {
  if constexpr (HasJsonConversion<T>) {
    member = JsonConversion<T>::read(from.at(key), from.path(key));
  } else if constexpr (std::is_same_v<T, bool>) {
    member = from.maybe_boolean(key).value_or(member);
  } else if constexpr (std::is_same_v<T, int>) {
    const std::int64_t value = from.integer(key);
    if (!std::in_range<int>(value)) throw FormatError(from.path(key) + ": out of range");
    member = static_cast<int>(value);
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    member = from.integer(key);
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    member = from.unsigned_integer(key);
  } else if constexpr (std::is_same_v<T, double>) {
    member = from.number(key);
  } else if constexpr (std::is_same_v<T, std::string>) {
    member = from.text(key);
  } else if constexpr (kIsA<T, std::optional>) {
    member.reset();
    if (from.find(key)) read_member(from, key, member.emplace());
  } else if constexpr (kIsA<T, std::pair>) {
    std::vector<typename T::first_type> both;
    read_member(from, key, both);
    if (both.size() != 2) throw FormatError(from.path(key) + ": must have two numbers");
    member = {both[0], both[1]};
  } else if constexpr (kIsA<T, std::map>) {
    if (const auto entries = from.maybe_group(key))
      for (const auto& [name, value] : entries->value().items()) read_member(*entries, name.c_str(), member[name]);
  } else if constexpr (kIsA<T, std::vector>) {
    read_list(from, key, member);
  } else {
    FieldReader reader(from.group(key));
    fields(reader, member);
  }
}

}  // namespace epochbench
