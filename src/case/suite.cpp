#include "src/case/suite.h"

#include <filesystem>

#include "epochbench/embedded.h"
#include "src/base/files.h"
#include "src/base/json.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/case/block_json.h"
#include "src/case/recipe.h"

namespace epochbench {
namespace {

constexpr std::string_view kFolder = "bench/suites/", kExtension = ".json";
constexpr std::size_t kMaxSuiteBytes = std::size_t{1} << 20;

std::string read_string(const Json& value, const std::string& where) {
  if (value.is_string()) return value.get<std::string>();
  throw CallError(where + " must be a string");
}

template <class Parse>
auto parsed(const Json& value, const std::string& where, const Parse& parse) {
  const std::string text = scalar_text(value, where);
  return located(where, [&] { return parse(text); });
}

// Includes the options of its recipe, if it names one.
CaseBlock read_case(const Json& object, const std::string& where) {
  if (!object.is_object() || !object.contains("recipe")) return read_block(object, where);
  Json own = object;
  own.erase("recipe");
  const std::string name = read_string(object["recipe"], where + ": recipe");
  return over_recipe(located(where, [&] { return load_recipe(name); }), read_block(own, where));
}

}  // namespace

int parse_repetitions(const std::string& text) { return whole<int>(1, kMaxRepetitions)(text); }

double parse_budget(const std::string& text) {
  constexpr double kMaxSeconds = 1e7;
  return parse_real(text, {0, kMaxSeconds, false, true});
}

Suite parse_suite(std::string_view text, const std::string& name) {
  const std::string where = "suite " + name;
  const Json document = parse_json(text, where);
  if (!document.is_object()) throw CallError(where + ": must be an object with a list \"cases\"");
  if (document.contains("schema_version"))
    throw CallError(where + ": a result, not a suite; name a suite, or continue this result with --resume in place of --suite");
  Suite suite;
  suite.name = name;
  CaseBlock defaults;
  const Json* cases = nullptr;
  for (const auto& [key, value] : document.items()) {
    if (key == "description") {
      suite.description = read_string(value, where + ": description");
    } else if (key == "name") {
      suite.name = read_string(value, where + ": name");
    } else if (key == "repetitions") {
      suite.repetitions = parsed(value, where + ": repetitions", parse_repetitions);
    } else if (key == "budget_seconds") {
      suite.budget_seconds = parsed(value, where + ": budget_seconds", parse_budget);
    } else if (key == "answers") {
      if (!value.is_boolean()) throw CallError(where + ": answers must be true or false");
      suite.answers = value.get<bool>();
    } else if (key == "defaults") {
      defaults = read_case(value, where + ": defaults");
    } else if (key == "cases") {
      cases = &value;
    } else {
      throw CallError(where + ": unknown key '" + key.substr(0, 60) +
                      "'; known: name, description, repetitions, budget_seconds, answers, defaults, cases");
    }
  }
  if (!cases || !cases->is_array() || cases->empty())
    throw CallError(where + ": \"cases\" must be a list with at least one case, such as [{\"model\": \"lenet5\"}]");
  if (cases->size() > kMaxCases) throw CallError(where + ": more than " + std::to_string(kMaxCases) + " cases");
  for (const Json& element : *cases) {
    const std::string here = where + ": cases[" + std::to_string(suite.cases.size()) + "]";
    suite.cases.push_back(merged(defaults, read_case(element, here)));
    if (!suite.cases.back().contains("model")) throw CallError(here + ": no model; add \"model\": \"lenet5\" or another");
  }
  return suite;
}

namespace {

[[noreturn]] void refuse_suite(const std::string& name) {
  std::vector<std::string> names;
  for (const Suite& suite : embedded_suites()) names.push_back(suite.name);
  throw CallError("--suite: '" + name + "' is neither a suite nor a file; known suites: " + joined(names) +
                  did_you_mean(name, names));
}

}  // namespace

std::optional<std::string> own_suite_text(const std::string& name) {
  const auto text = embedded_file(std::string(kFolder) + name + std::string(kExtension));
  return text ? std::optional<std::string>(*text) : std::nullopt;
}

Suite load_suite(const std::string& name_or_path) {
  if (name_or_path.empty()) throw CallError("--suite: an empty name; give a name or a file, such as quick");
  const std::string name = name_or_path == "feeding" ? "input-pipeline" : name_or_path;  // its earlier name
  if (const auto text = own_suite_text(name)) {
    Suite suite = parse_suite(*text, name);
    suite.own = true;
    return suite;
  }
  std::error_code error;
  if (!std::filesystem::exists(name_or_path, error)) refuse_suite(name_or_path);
  return parse_suite(read_text_file(name_or_path, kMaxSuiteBytes), name_or_path);
}

std::vector<Suite> embedded_suites() {
  std::vector<Suite> suites;
  for (const std::string_view path : embedded_files(kFolder)) {
    const std::string_view name = path.substr(kFolder.size(), path.size() - kFolder.size() - kExtension.size());
    suites.push_back(parse_suite(*embedded_file(path), std::string(name)));
  }
  return suites;
}

}  // namespace epochbench
