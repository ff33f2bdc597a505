// What a setting of a case means to those who compare runs. docs/architecture.md says which command matches, pairs or pools
// over which class.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "src/case/settings.h"

namespace epochbench {

enum class SettingClass : std::uint8_t {
  workload,     // other work: model options, batch, data, mode
  placement,    // where it runs: device, threads, pinning
  rounding,     // how numbers are rounded: precision, kernels
  sample,       // the seed: a repetition for speed, a pairing key for quality
  ablation,     // a part left out on purpose
  input,        // how samples reach the steps: loader, cache, decoding
  measurement,  // warm-up, stopping rule, meters: never separates a pair
};

const char* name(SettingClass setting_class);

// The class of a key. A key that this version does not know, from a newer one, is `workload`: it never joins a pair silently.
SettingClass setting_class(std::string_view key);

// The settings of these classes.
Settings of_classes(const Settings& settings, std::initializer_list<SettingClass> classes);

}  // namespace epochbench
