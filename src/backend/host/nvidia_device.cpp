#include "src/backend/host/nvidia_device.h"

#include <filesystem>
#include <functional>
#include <system_error>

#include "src/base/files.h"

namespace epochbench {
namespace {

// An unreadable or missing folder has no entries.
bool any_entry(const std::string& folder, const std::function<bool(const std::filesystem::path&)>& wanted) {
  std::error_code error;
  std::filesystem::directory_iterator entries(folder, error);
  for (const std::filesystem::directory_iterator end; !error && entries != end; entries.increment(error))
    if (wanted(entries->path())) return true;
  return false;
}

}  // namespace

bool has_nvidia_device(const std::string& root) {
  const auto is_made_by_driver = [](const std::filesystem::path& path) {
    const std::string name = path.filename().string();
    return name.starts_with("nvidia") || name == "dxg" || name.starts_with("nvhost") || name == "nvmap";
  };
  const auto is_of_vendor = [](const std::filesystem::path& path) {
    return read_system_file((path / "vendor").string()).value_or("").starts_with("0x10de");
  };
  return any_entry(root + "/dev", is_made_by_driver) || any_entry(root + "/sys/bus/pci/devices", is_of_vendor);
}

}  // namespace epochbench
