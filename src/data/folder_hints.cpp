#include "src/data/folder_hints.h"

#include <algorithm>
#include <system_error>
#include <vector>

#include "src/data/byte_source.h"

namespace epochbench {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> visible_entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator each(folder, error), end; !error && each != end && entries.size() < kMaxNames;
       each.increment(error))
    if (!each->path().filename().string().starts_with('.')) entries.push_back(each->path());
  std::ranges::sort(entries);
  return entries;
}

}  // namespace

std::optional<fs::path> folder_below(const fs::path& folder, const std::function<bool(const fs::path&)>& has) {
  constexpr int kLevels = 2;
  std::vector<fs::path> level{folder};
  for (int i = 0; i < kLevels; ++i) {
    std::vector<fs::path> below;
    std::error_code error;
    for (const fs::path& parent : level)
      for (const fs::path& entry : visible_entries(parent))
        if (below.size() < kMaxNames && fs::is_directory(entry, error)) below.push_back(entry);
    for (const fs::path& each : below)
      if (has(each)) return each;
    level = std::move(below);
  }
  return std::nullopt;
}

std::string first_names(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 3;
  if (names.empty()) return " (it is empty)";
  std::string shown;
  for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i) shown += (i == 0 ? "" : ", ") + in_quotes(names[i]);
  const std::size_t more = names.size() - std::min(kShown, names.size());
  return " (but " + shown +
         (more == 0 ? "" : " and " + std::to_string(more) + (names.size() == kMaxNames ? " or more" : " more")) + ")";
}

std::string names_there(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::path& entry : visible_entries(folder)) names.push_back(entry.filename().string());
  return first_names(names);
}

}  // namespace epochbench
