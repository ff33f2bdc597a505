// The settings of a run that differ from their defaults, as a result records them: `runs[].settings`.
//
// Keys are those of a case in a suite: {"model": "mlp", "model_options": {"width": 4096}, "threads": 1, "without": ["fusion"]}.
// The table of options (src/case/case_options.cpp) defines each key's meaning, default and class.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "src/base/lookup.h"

namespace epochbench {

using SettingValue =
    std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>, std::map<std::string, std::int64_t>>;
using Settings = std::map<std::string, SettingValue>;

std::string to_text(const SettingValue& value);  // as in a call: "off", "0.01", "fusion+prefetch"

// The text of a setting; `otherwise` if there is none.
std::string setting_text(const Settings& settings, const std::string& key, const std::string& otherwise = "");
std::string model_text(const Settings& settings);  // "mlp:depth=3,width=64"

// A setting of this type; null if there is none, or it has another type.
template <class T>
const T* setting_as(const Settings& settings, const std::string& key) {
  const SettingValue* value = find_value(settings, key);
  return value ? std::get_if<T>(value) : nullptr;
}

// The role of a setting in comparisons of runs. docs/architecture.md says which command matches, pairs or pools over which
// class.
enum class SettingClass : std::uint8_t {
  workload,     // other work: model options, batch, data, mode
  placement,    // where it runs: device, threads, pinning
  rounding,     // how numbers are rounded: precision, kernels
  sample,       // the seed: a repetition for speed, a pairing key for quality
  ablation,     // a part left out on purpose
  input,        // how samples reach the steps: loader, cache, decoding
  measurement,  // warm-up, stopping rule, meters: never separates a pair
};

// The class of a key. An unknown key, from a newer version, is `workload`, so that runs which differ in it are never paired
// silently.
SettingClass setting_class(std::string_view key);

// The settings of these classes.
Settings of_classes(const Settings& settings, std::initializer_list<SettingClass> classes);

}  // namespace epochbench
