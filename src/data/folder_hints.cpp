#include "src/data/folder_hints.h"

#include <algorithm>
#include <system_error>
#include <vector>

#include "src/data/byte_source.h"

namespace epochbench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxEntries = 1000;  // of a folder that are looked at: a message need not wait for a million

std::vector<fs::path> visible_entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator each(folder, error), end; !error && each != end && entries.size() < kMaxEntries;
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
        if (below.size() < kMaxEntries && fs::is_directory(entry, error)) below.push_back(entry);
    for (const fs::path& each : below)
      if (has(each)) return each;
    level = std::move(below);
  }
  return std::nullopt;
}

std::string names_there(const fs::path& folder) {
  constexpr std::size_t kShown = 3;
  const std::vector<fs::path> entries = visible_entries(folder);
  if (entries.empty()) return " (it is empty)";
  std::string names;
  for (std::size_t i = 0; i < std::min(kShown, entries.size()); ++i)
    names += (i == 0 ? "" : ", ") + in_quotes(entries[i].filename().string());
  const std::size_t more = entries.size() - std::min(kShown, entries.size());
  return " (but " + names +
         (more == 0 ? "" : " and " + std::to_string(more) + (entries.size() == kMaxEntries ? " or more" : " more")) + ")";
}

}  // namespace epochbench
