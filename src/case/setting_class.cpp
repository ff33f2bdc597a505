#include "src/case/setting_class.h"

#include <algorithm>
#include <array>
#include <utility>

namespace epochbench {
namespace {

using Class = SettingClass;

constexpr std::array<std::pair<std::string_view, SettingClass>, 27> kClasses{
    {{"batch", Class::workload},         {"bind", Class::placement},       {"cache", Class::input},
     {"compile", Class::placement},      {"data", Class::workload},        {"decode_cost", Class::input},
     {"device", Class::placement},       {"dropout", Class::workload},     {"epoch_samples", Class::workload},
     {"epochs", Class::measurement},     {"init", Class::workload},        {"kernels", Class::rounding},
     {"learning_rate", Class::workload}, {"loader_threads", Class::input}, {"meters", Class::measurement},
     {"min_time", Class::measurement},   {"mode", Class::workload},        {"model", Class::workload},
     {"model_options", Class::workload}, {"order", Class::workload},       {"pin", Class::placement},
     {"precision", Class::rounding},     {"seed", Class::sample},          {"steps", Class::measurement},
     {"threads", Class::placement},      {"until", Class::measurement},    {"without", Class::ablation}}};

}  // namespace

const char* name(SettingClass setting_class) {
  constexpr std::array kNames{"workload", "placement", "rounding", "sample", "ablation", "input", "measurement"};
  return kNames[static_cast<std::size_t>(setting_class)];
}

SettingClass setting_class(std::string_view key) {
  if (key == "wait" || key == "warmup") return SettingClass::measurement;
  const auto found = std::find_if(kClasses.begin(), kClasses.end(), [&](const auto& entry) { return entry.first == key; });
  return found == kClasses.end() ? SettingClass::workload : found->second;
}

Settings of_classes(const Settings& settings, std::initializer_list<SettingClass> classes) {
  Settings chosen;
  for (const auto& [key, value] : settings)
    if (std::find(classes.begin(), classes.end(), setting_class(key)) != classes.end()) chosen.emplace(key, value);
  return chosen;
}

}  // namespace epochbench
