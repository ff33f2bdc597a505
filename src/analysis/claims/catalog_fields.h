// Fields of a catalog of claims: like JsonFields, but a key that nothing read is refused, so keys are listed in one place.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/base/json_fields.h"
#include "src/base/text.h"

namespace epochbench {

class CatalogFields {
 public:
  explicit CatalogFields(JsonFields fields, const Json& object) : fields_(std::move(fields)), object_(&object) {}

  // Errors of all: FormatError that begins with the place; if there is an unknown key too, it is named instead.
  template <class T>
  T get(const char* key) {
    read_.insert(key);
    return fields_.get<T>(key);
  }
  template <class T>
  std::optional<T> maybe(const char* key) {
    read_.insert(key);
    return fields_.maybe<T>(key);
  }
  const Json& at(const char* key) {
    read_.insert(key);
    return fields_.at(key);
  }
  std::string text(const char* key) { return get<std::string>(key); }
  std::string text_or(const char* key, const std::string& otherwise) { return maybe<std::string>(key).value_or(otherwise); }
  std::vector<std::string> texts_or_none(const char* key) {
    return maybe<std::vector<std::string>>(key).value_or(std::vector<std::string>{});
  }
  std::string path(const char* key) const { return fields_.path(key); }
  const JsonFields& all() const { return fields_; }

  // The values that `read` makes from a list of objects; a key that `read` leaves out is refused. Empty if it is missing.
  template <class Read>
  auto list(const char* key, const Read& read) {
    std::vector<decltype(read(std::declval<CatalogFields&>()))> values;
    read_.insert(key);
    if (!fields_.find(key)) return values;
    const std::string where = path(key);
    const Json& array = require_array(fields_.at(key), where);
    for (std::size_t i = 0; i < array.size(); ++i) values.push_back(whole(array[i], path_of_element(where, i), read));
    return values;
  }
  // The same for one object; empty if it is missing.
  template <class Read>
  auto object(const char* key, const Read& read) {
    std::optional<decltype(read(std::declval<CatalogFields&>()))> value;
    read_.insert(key);
    if (const Json* found = fields_.find(key)) value = whole(*found, path(key), read);
    return value;
  }

  template <class Read>
  static auto whole(const Json& object, const std::string& where, const Read& read) {
    CatalogFields fields(JsonFields(object, where), object);
    auto value = read(fields);
    fields.refuse_others(where);
    return value;
  }

 private:
  void refuse_others(const std::string& where) const {
    for (const auto& [key, value] : object_->items())
      if (!read_.contains(key))
        throw FormatError(where + ": unknown key '" + key.substr(0, 60) + "'" +
                          did_you_mean(key, {read_.begin(), read_.end()}));
  }

  JsonFields fields_;
  const Json* object_;
  std::set<std::string> read_;
};

}  // namespace epochbench
