// Files embedded in the binary, so that it runs from any folder: suites, prices, the schema, small real data sets.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace epochbench {

std::optional<std::string_view> embedded_file(std::string_view path);   // by its path in the repository
std::vector<std::string_view> embedded_files(std::string_view prefix);  // "bench/suites/" -> the paths with this prefix

}  // namespace epochbench
