// epochbench list: the names that it shows, for completion.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace epochbench {

std::vector<std::string> listed_names(std::string_view kind);  // "models", "suites" or another kind that `list` has

}  // namespace epochbench
