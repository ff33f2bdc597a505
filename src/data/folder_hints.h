// What a message about a folder that lacks some files says of what is there.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace epochbench {

// The first folder, by name, one or two levels below `folder` that `has` what is looked for. Hidden folders do not count.
std::optional<std::filesystem::path> folder_below(const std::filesystem::path& folder,
                                                  const std::function<bool(const std::filesystem::path&)>& has);

// " (but 'a', 'b' and 3 more)" or " (it is empty)": the first of the names. kMaxNames of them stand for any number.
inline constexpr std::size_t kMaxNames = 1000;  // a message need not wait for a million
std::string first_names(const std::vector<std::string>& names);
// Those in the folder that are not hidden.
std::string names_there(const std::filesystem::path& folder);

}  // namespace epochbench
