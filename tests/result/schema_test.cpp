// The lists of fields and the published schemas describe the same keys: each key of a list is in the schema, and the reverse,
// and the schema accepts the types that are written, and of an enumeration exactly its words.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>

#include "src/base/files.h"
#include "src/base/json_fields.h"
#include "src/result/published.h"
#include "src/result/result_json.h"

namespace epochbench {
namespace {

using Types = std::set<std::string>;        // of JSON, and the words of an enumeration in quotes
using Keys = std::map<std::string, Types>;  // by path: "runs[].timing.warmup_steps"

// Collects the paths of a list of fields, and the types that are written there.
class KeyCollector {
 public:
  explicit KeyCollector(Keys& keys, std::string prefix = "") : keys_(keys), prefix_(std::move(prefix)) {}

  void operator()(const char* key, const auto& member, const Form& form = {}) {
    const std::string path = prefix_ + key;
    add(path, member, form);
    if (form.null_if_empty) keys_[path].insert("null");
    if (form.default_text || form.omitted_if_empty) keys_[path].erase("null");
  }
  void group(const char* key, const auto& list) {
    keys_[prefix_ + key] = {"object"};
    KeyCollector part(keys_, prefix_ + key + ".");
    list(part);
  }

 private:
  template <class T>
  void add(const std::string& path, const T& value, const Form& form = {}) {
    if constexpr (HasJsonConversion<T>) {
      keys_[path].insert(JsonConversion<T>::write(value).type_name());
      if constexpr (Choice<T>)
        for (const char* word : texts_of(T{})) keys_[path].insert(Json(word).dump());
    } else if constexpr (std::is_same_v<T, bool>) {
      keys_[path].insert("boolean");
    } else if constexpr (std::is_arithmetic_v<T>) {
      keys_[path].insert(std::is_integral_v<T> ? "integer" : "number");
    } else if constexpr (std::is_same_v<T, std::string>) {
      keys_[path].insert("string");
    } else if constexpr (kIsA<T, std::optional>) {
      keys_[path].insert("null");
      add(path, typename T::value_type{});
    } else if constexpr (kIsA<T, std::vector>) {
      keys_[path].insert("array");
      add(path + "[]", typename T::value_type{});
    } else if constexpr (kIsA<T, std::pair>) {
      keys_[path].insert("array");
    } else if constexpr (kIsA<T, std::map>) {
      keys_[path].insert("object");
      for (const char* key : form.keys) add(path + "." + key, typename T::mapped_type{});
    } else {
      if (!path.ends_with("[]")) keys_[path].insert("object");
      KeyCollector inner(keys_, path + ".");
      fields(inner, value);
    }
  }

  Keys& keys_;
  std::string prefix_;
};

template <class T>
Keys keys_of(const char* version_key) {
  Keys keys;
  keys[version_key] = {"integer"};
  KeyCollector collector(keys);
  const T value;
  fields(collector, value);
  // Elements that are scalars have no key of their own.
  std::erase_if(keys, [](const auto& entry) { return entry.first.ends_with("[]"); });
  return keys;
}

Json schema_file(const std::string& name) {
  return parse_json(read_text_file(std::string(EPOCHBENCH_SOURCE_DIR) + "/results/" + name), name);
}

const Json& resolved(const Json& root, const Json& schema) {
  const auto reference = schema.find("$ref");
  return reference == schema.end() ? schema : root.at(Json::json_pointer(reference->get<std::string>().substr(1)));
}

Types types_of(const Json& schema) {
  Types types;
  for (const char* key : {"const", "enum"}) {
    const auto values = schema.find(key);
    if (values == schema.end()) continue;
    for (const Json& value : values->is_array() ? *values : Json::array({*values})) {
      types.insert(value.is_number_integer() ? "integer" : value.type_name());
      if (value.is_string()) types.insert(value.dump());
    }
  }
  const auto type = schema.find("type");
  if (type == schema.end()) return types;
  for (const Json& each : type->is_array() ? *type : Json::array({*type})) types.insert(each.get<std::string>());
  if (types.count("number")) types.insert("integer");
  return types;
}

void collect(const Json& root, const Json& schema, const std::string& prefix, Keys& keys) {
  if (schema.contains("properties"))
    for (const auto& [key, member] : schema["properties"].items()) {
      const Json& target = resolved(root, member);
      keys[prefix + key] = types_of(target);
      collect(root, target, prefix + key + ".", keys);
    }
  if (schema.contains("items")) {
    const std::string list = prefix.substr(0, prefix.size() - 1);
    collect(root, resolved(root, schema["items"]), list + "[].", keys);
  }
}

bool is_word(const std::string& type) { return type.starts_with('"'); }

void expect_same(const Keys& written, const Keys& documented) {
  for (const auto& [path, types] : written) {
    const auto found = documented.find(path);
    if (found == documented.end()) {
      ADD_FAILURE() << path << " is written, and the schema lacks it";
      continue;
    }
    for (const std::string& type : types)
      EXPECT_TRUE(found->second.count(type)) << path << " may be written as " << type << ", which the schema does not accept";
  }
  for (const auto& [path, types] : documented) {
    const auto found = written.find(path);
    EXPECT_TRUE(found != written.end()) << path << " is in the schema, and never written";
    if (found == written.end() || std::ranges::none_of(found->second, is_word)) continue;
    for (const std::string& type : types)
      EXPECT_TRUE(!is_word(type) || found->second.count(type)) << path << " is never " << type << ", which the schema accepts";
  }
}

// For a member that never has another of its type's words.
void keep_word(Types& types, const char* word) {
  std::erase_if(types, [&](const std::string& type) { return is_word(type) && type != Json(word).dump(); });
}

TEST(Schema, HasTheKeysOfResults) {
  const Json schema = schema_file("schema.json");
  Keys documented;
  collect(schema, schema, "", documented);
  Keys written = keys_of<Result>("schema_version");
  keep_word(written.at("runs[].device.products"), "fp32");
  EXPECT_GT(written.size(), 150u);
  expect_same(written, documented);
}

TEST(Schema, HasTheKeysOfDocumentsOfTurns) {
  const Json schema = schema_file("turns.schema.json");
  Keys documented, written = keys_of<TurnsDocument>("turns_version");
  collect(schema, schema, "", documented);
  EXPECT_GT(written.size(), 50u);
  for (Keys* keys : {&documented, &written})  // schema.json has the keys of a context
    std::erase_if(*keys, [](const auto& entry) { return entry.first.starts_with("context."); });
  expect_same(written, documented);
}

TEST(Schema, HasTheKeysOfPublishedResults) {
  const Json schema = schema_file("published.schema.json");
  Keys documented, written = keys_of<PublishedDocument>("published_version");
  keep_word(written.at("evidence"), "published");
  collect(schema, schema, "", documented);
  EXPECT_GT(written.size(), 50u);
  expect_same(written, documented);
}

TEST(Schema, ADifferenceIsNamed) {
  const Keys written{{"a", {"number", "null"}}, {"b", {"string"}}, {"d", {"string", "\"cpu\"", "\"gpu\""}}},
      documented{{"a", {"number"}}, {"c", {"string"}}, {"d", {"string", "\"cpu\"", "\"tpu\""}}};
  testing::TestPartResultArray failures;
  {
    testing::ScopedFakeTestPartResultReporter reporter(testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD,
                                                       &failures);
    expect_same(written, documented);
  }
  ASSERT_EQ(failures.size(), 5);
  EXPECT_THAT(failures.GetTestPartResult(0).message(), testing::HasSubstr("a may be written as null"));
  EXPECT_THAT(failures.GetTestPartResult(1).message(), testing::HasSubstr("b is written"));
  EXPECT_THAT(failures.GetTestPartResult(2).message(), testing::HasSubstr("d may be written as \"gpu\""));
  EXPECT_THAT(failures.GetTestPartResult(3).message(), testing::HasSubstr("c is in the schema"));
  EXPECT_THAT(failures.GetTestPartResult(4).message(), testing::HasSubstr("d is never \"tpu\""));
}

}  // namespace
}  // namespace epochbench
