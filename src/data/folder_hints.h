// What a message about a folder that lacks some files says of what is there.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace epochbench {

// The first folder, by name, one or two levels below `folder` that `has` what is looked for. Hidden folders do not count.
std::optional<std::filesystem::path> folder_below(const std::filesystem::path& folder,
                                                  const std::function<bool(const std::filesystem::path&)>& has);

// " (but 'a', 'b' and 3 more)" or " (it is empty)": the names in the folder that are not hidden.
std::string names_there(const std::filesystem::path& folder);

}  // namespace epochbench
