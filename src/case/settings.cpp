#include "src/case/settings.h"

#include <algorithm>

#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/case/case_option.h"

namespace epochbench {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;  // clang before 17 deduces none for aggregates

}  // namespace

std::string to_text(const SettingValue& value) {
  return std::visit(
      Overloaded{[](bool on) { return std::string(on ? "on" : "off"); },
                 [](std::int64_t number) { return std::to_string(number); }, [](double number) { return shortest(number); },
                 [](const std::string& text) { return text; },
                 [](const std::vector<std::string>& parts) { return parts.empty() ? std::string("none") : joined(parts, "+"); },
                 [](const std::map<std::string, std::int64_t>& options) {
                   return joined(
                       options, [](const auto& option) { return option.first + "=" + std::to_string(option.second); }, ",");
                 }},
      value);
}

std::string setting_text(const Settings& settings, const std::string& key, const std::string& otherwise) {
  const SettingValue* value = find_value(settings, key);
  return value ? to_text(*value) : otherwise;
}

std::string model_text(const Settings& settings) {
  const std::string options = setting_text(settings, "model_options");
  return setting_text(settings, "model") + (options.empty() ? "" : ":" + options);
}

SettingClass setting_class(std::string_view key) {
  const CaseOption* option = find_setting(key);
  return option ? *option->setting_class : SettingClass::workload;
}

Settings of_classes(const Settings& settings, std::initializer_list<SettingClass> classes) {
  Settings chosen;
  for (const auto& [key, value] : settings)
    if (std::find(classes.begin(), classes.end(), setting_class(key)) != classes.end()) chosen.emplace(key, value);
  return chosen;
}

}  // namespace epochbench
