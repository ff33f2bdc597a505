#include "src/case/block_json.h"

#include "src/base/text.h"

namespace epochbench {
namespace {

std::vector<std::string> known_keys() {
  std::vector<std::string> keys;
  for (const CaseOption& option : case_options())
    if (option.offered_to == OfferedTo::calls) keys.push_back(option.key);
  return keys;
}

OptionValues read_values(const CaseOption& option, const Json& value, const std::string& where) {
  OptionValues result{{}, where};
  const Json elements = value.is_array() ? value : Json::array({value});
  for (const Json& element : elements) {
    const std::string scalar = scalar_text(element, where);
    for (std::string& text : located(where, [&] { return split_values(option, scalar); }))
      result.values.push_back(std::move(text));
  }
  if (result.values.empty()) throw CallError(where + ": an empty list; give at least one value");
  return result;
}

}  // namespace

std::string scalar_text(const Json& value, const std::string& where) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number() || value.is_boolean()) return value.dump();
  throw CallError(where + ": must be a string, a number, true or false, or a list of them");
}

CaseBlock read_block(const Json& object, const std::string& where) {
  if (!object.is_object()) throw CallError(where + ": must be an object with the options of a case");
  CaseBlock block;
  for (const auto& [key, value] : object.items()) {
    const CaseOption* option = find_case_option(key);
    if (!option || option->offered_to != OfferedTo::calls) {
      const std::string guess = did_you_mean(key, known_keys());
      throw CallError(where + ": unknown key '" + key.substr(0, 60) + "'" +
                      (guess.empty() ? "; known: " + joined(known_keys()) : guess));
    }
    block[option->key] = read_values(*option, value, where + "." + key);
  }
  return block;
}

}  // namespace epochbench
