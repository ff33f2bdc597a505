#include "src/machine/cgroup.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include "src/machine/system_files.h"

namespace epochbench {
namespace {

// Whether a list such as "a,b" contains `name`; an empty list contains "".
bool names(std::string_view list, const std::string& name) {
  const std::vector<std::string> all = split(list);
  return std::find(all.begin(), all.end(), name) != all.end();
}

struct GroupMount {
  std::string group, folder;  // the group at its top, and where it is mounted
  bool shows(const std::string& path) const {
    return group == "/" || path == group || (path.starts_with(group) && path[group.size()] == '/');
  }
};

// mountinfo writes white space and backslashes, which names of systemd's units have, as octal numbers.
std::string plain(std::string path) {
  for (const auto& [octal, character] : {std::pair("\\040", " "), std::pair("\\011", "\t"), std::pair("\\134", "\\")})
    replace_all(path, octal, character);
  return path;
}

// Where a version 1 controller, or version 2 if the name is empty, is mounted. What is mounted over hides what was there.
std::vector<GroupMount> group_mounts(const std::string& root, const std::string& controller) {
  std::vector<GroupMount> found;
  std::ifstream mounts(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    const std::size_t separator = line.find(" - ");
    if (separator == std::string::npos) continue;
    std::string skip, group, point, type, source, options;
    std::istringstream left(line), right(line.substr(separator + 3));
    left >> skip >> skip >> skip >> group >> point;
    right >> type >> source >> options;
    if (controller.empty() ? type != "cgroup2" : type != "cgroup" || !names(options, controller)) continue;
    const std::string folder = root + plain(point);
    std::erase_if(found, [&](const GroupMount& mount) { return mount.folder == folder; });
    found.push_back({plain(group), folder});
  }
  return found;
}

// Folders of this process's group and its ancestors, innermost first: for a version 1 controller, or for version 2 if the name
// is empty. In a container whose /proc shows the host's path, only the top of the mount exists.
std::vector<std::string> group_folders(const std::string& root, const std::string& controller) {
  std::ifstream groups(root + "/proc/self/cgroup");
  std::optional<std::string> path;
  for (std::string line; std::getline(groups, line);) {  // "4:memory:/a/b", "0::/a/b"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    if (names(line.substr(first + 1, second - first - 1), controller)) path = line.substr(second + 1);
  }
  if (!path) return {};

  std::vector<GroupMount> mounts = group_mounts(root, controller);
  if (mounts.empty()) return {};
  // The one that shows most levels of this process's group.
  std::ranges::stable_sort(mounts, {},
                           [&](const GroupMount& mount) { return std::pair(!mount.shows(*path), mount.group.size()); });
  const GroupMount& mount = mounts.front();
  std::string inner = mount.shows(*path) && mount.group != "/" ? path->substr(mount.group.size()) : *path;

  std::vector<std::string> folders;
  for (; inner.size() > 1; inner.erase(inner.rfind('/'))) folders.push_back(mount.folder + inner);
  folders.push_back(mount.folder);
  return folders;
}

template <class T>
void keep_min(std::optional<T>& least, std::optional<T> value) {
  if (value && (!least || *value < *least)) least = value;
}

std::optional<CgroupMemory> memory_of(std::optional<std::int64_t> limit, std::optional<std::int64_t> used,
                                      const std::string& stat, const std::string& prefix) {
  constexpr std::int64_t kUnlimited = std::int64_t{1} << 60;  // version 1 writes a huge number for "no limit"
  if (!limit || !used || *limit >= kUnlimited) return std::nullopt;
  const std::int64_t cached = read_keyed_number(stat, prefix + "inactive_file").value_or(0) +
                              read_keyed_number(stat, prefix + "active_file").value_or(0);
  return CgroupMemory{*limit, std::max<std::int64_t>(0, *limit - std::max<std::int64_t>(0, *used - cached))};
}

}  // namespace

std::optional<double> cgroup_cpu_quota(const std::string& root) {
  std::optional<double> quota;
  for (const std::string& folder : group_folders(root, "")) {
    const auto text = read_system_file(folder + "/cpu.max");  // "200000 100000" or "max 100000"
    if (!text) continue;
    double limit = 0, period = 0;
    std::istringstream numbers(*text);
    if (numbers >> limit >> period && limit > 0 && period > 0) keep_min(quota, std::optional(limit / period));
  }
  for (const std::string& folder : group_folders(root, "cpu")) {
    const auto limit = read_number(folder + "/cpu.cfs_quota_us"), period = read_number(folder + "/cpu.cfs_period_us");
    if (limit && period && *limit > 0 && *period > 0)
      keep_min(quota, std::optional(static_cast<double>(*limit) / static_cast<double>(*period)));
  }
  return quota;
}

std::optional<CgroupMemory> cgroup_memory(const std::string& root) {
  std::optional<CgroupMemory> tightest;
  const auto consider = [&](const std::optional<CgroupMemory>& level) {
    if (level && (!tightest || level->available_bytes < tightest->available_bytes)) tightest = level;
  };
  for (const std::string& folder : group_folders(root, ""))
    for (const char* limit : {"/memory.max", "/memory.high"})  // above the second one, the kernel slows down each allocation
      consider(memory_of(read_number(folder + limit), read_number(folder + "/memory.current"), folder + "/memory.stat", ""));
  for (const std::string& folder : group_folders(root, "memory"))
    consider(memory_of(read_number(folder + "/memory.limit_in_bytes"), read_number(folder + "/memory.usage_in_bytes"),
                       folder + "/memory.stat", "total_"));
  return tightest;
}

std::optional<std::int64_t> oom_kill_count(const std::string& root) {
  std::optional<std::int64_t> total;
  const auto add = [&](const std::string& file) {
    if (const auto count = read_keyed_number(file, "oom_kill")) total = total.value_or(0) + *count;
  };
  // A kill may be counted at several levels, which is harmless: only an increase matters.
  for (const std::string& folder : group_folders(root, "")) add(folder + "/memory.events");
  for (const std::string& folder : group_folders(root, "memory")) add(folder + "/memory.oom_control");
  add(root + "/proc/vmstat");
  return total;
}

}  // namespace epochbench
