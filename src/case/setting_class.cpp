#include "src/case/setting_class.h"

#include <algorithm>
#include <array>

#include "src/case/case_option.h"

namespace epochbench {

const char* name(SettingClass setting_class) {
  constexpr std::array kNames{"workload", "placement", "rounding", "sample", "ablation", "input", "measurement"};
  return kNames[static_cast<std::size_t>(setting_class)];
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
