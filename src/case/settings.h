// The settings of a run that differ from their defaults, as a result records them: `runs[].settings`.
//
// Keys are those of a case in a suite: {"model": "mlp", "model_options": {"width": 4096}, "threads": 1, "without": ["fusion"]}.
// What a key means, its default and its class stand in the table of options (src/case/case_options.cpp).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace epochbench {

using SettingValue =
    std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>, std::map<std::string, std::int64_t>>;
using Settings = std::map<std::string, SettingValue>;

std::string to_text(const SettingValue& value);  // as a call gives it: "off", "0.01", "fusion+prefetch"

}  // namespace epochbench
