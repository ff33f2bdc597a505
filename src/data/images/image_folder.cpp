// Images in folders. Only names are read before the first sample: a million of them take seconds, and less than 100 MB.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "src/base/errors.h"
#include "src/base/file_descriptor.h"
#include "src/data/byte_source.h"
#include "src/data/folder_hints.h"
#include "src/data/images/decoder.h"
#include "src/data/images/image_files.h"

namespace epochbench {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& what) {
  throw DataError("data folder " + in_quotes(path.string()) + " " + what);
}

// Calls visit(name, type) for each entry that is not hidden.
template <class Visit>
void for_entries(const std::filesystem::path& folder, const Visit& visit) {
  const auto close = [](DIR* stream) { closedir(stream); };
  const std::unique_ptr<DIR, decltype(close)> stream(opendir(folder.c_str()), close);
  if (!stream) fail(folder, "cannot be read: " + error_text(errno) + "; make it readable");
  errno = 0;
  while (const dirent* entry = readdir(stream.get())) {
    if (entry->d_name[0] != '.') visit(entry->d_name, entry->d_type);
    errno = 0;
  }
  if (errno != 0) fail(folder, "cannot be read: " + error_text(errno) + "; check the disk");
}

class FolderFiles final : public ImageFiles {
 public:
  explicit FolderFiles(std::filesystem::path folder) : folder_(std::move(folder)) {
    read_split(train_, "train", true);
    read_split(test_, "val", false);
  }

  void read(std::vector<std::uint8_t>& bytes, Split split, std::int64_t index) const override {
    const std::string path = folder_ / name(split, index);
    const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // a pipe would block
    struct stat status {};
    if (!file || fstat(file.number(), &status) != 0) throw BadImage("cannot be opened: " + error_text(errno));
    if (!S_ISREG(status.st_mode)) throw BadImage("is not a regular file");
    const auto size = static_cast<std::uint64_t>(status.st_size);
    check_size(size);
    bytes.resize(size);
    if (cold_) file.drop_pages(0, size);
    const ssize_t got = file.read_at(bytes.data(), size, 0);
    if (got < 0) throw BadImage("cannot be read: " + error_text(errno));
    bytes.resize(static_cast<std::size_t>(got));
  }

 private:
  void read_split(ImageList& list, const char* split, bool makes_classes) {
    const std::filesystem::path folder = folder_ / split;
    std::error_code error;
    if (!std::filesystem::is_directory(folder, error))
      fail(folder_, std::string("has no folder ") + split + remedy_without(split));
    const std::vector<std::string> names = class_names(folder);
    if (makes_classes) classes_ = names;
    for (const std::string& name : names) {
      const auto known = std::lower_bound(classes_.begin(), classes_.end(), name);
      if (known == classes_.end() || *known != name)
        fail(folder, "has the class " + in_quotes(name) + ", that train does not have: use the same classes in both");
      read_class(list, folder / name, static_cast<std::uint32_t>(known - classes_.begin()));
    }
  }

  // ": rename 'validation' to val": what makes the layout of what is there.
  std::string remedy_without(const std::string& split) const {
    std::error_code error;
    const std::vector<const char*> others = split == "train" ? std::vector{"Train", "TRAIN", "training"}
                                                             : std::vector{"Val", "VAL", "valid", "validation", "test", "dev"};
    for (const char* other : others)
      if (std::filesystem::is_directory(folder_ / other, error)) return ": rename " + in_quotes(other) + " to " + split;
    const auto below = folder_below(folder_, [&](const std::filesystem::path& each) {
      return std::filesystem::is_directory(each / "train", error) && std::filesystem::is_directory(each / "val", error);
    });
    if (below) return ", but " + in_quotes(below->string()) + " has train and val: name that (--data images:PATH)";
    return names_there(folder_) + ": it must contain train/CLASS/FILE and val/CLASS/FILE";
  }

  std::vector<std::string> class_names(const std::filesystem::path& folder) {
    std::vector<std::string> names;
    std::map<std::pair<dev_t, ino_t>, std::string> folders;
    for_entries(folder, [&](const char* name, unsigned char type) {
      if (type != DT_DIR && is_image_name(name)) ++loose_;
      if ((type != DT_DIR && type != DT_LNK && type != DT_UNKNOWN) || is_image_name(name)) return;
      struct stat status {};
      if (stat((folder / name).c_str(), &status) != 0)
        fail(folder / name, "cannot be read: " + error_text(errno) + "; repair or remove it");
      if (!S_ISDIR(status.st_mode)) return;
      const auto [known, is_new] = folders.emplace(std::pair(status.st_dev, status.st_ino), name);
      if (!is_new)
        fail(folder, "has one folder as two classes, " + in_quotes(known->second) + " and " + in_quotes(name) +
                         ": remove one of the links");
      names.emplace_back(name);
    });
    if (names.empty()) fail(folder, "has no folder per class: put the images into CLASS/FILE");
    std::sort(names.begin(), names.end());
    return names;
  }

  void read_class(ImageList& list, const std::filesystem::path& folder, std::uint32_t label) {
    const std::size_t first = list.size();
    std::string other;
    for_entries(folder, [&](const char* name, unsigned char type) {
      const bool is_link = type == DT_LNK && !is_image_name(name);
      if (std::error_code error; type == DT_DIR || (is_link && std::filesystem::is_directory(folder / name, error)))
        fail(folder, "has the folder " + in_quotes(name) + ": images must lie directly in that of their class");
      if (is_image_name(name)) {
        list.add(name, label);
      } else {
        other = name;
        ++others_;
      }
    });
    if (list.size() == first)
      fail(folder, "has no image" + (other.empty() ? "" : " (but " + in_quotes(other) + ")") +
                       ": put .jpg, .jpeg or .png files there, or remove the class");
    list.sort_from(first);
  }

  std::filesystem::path folder_;
};

}  // namespace

std::unique_ptr<ImageFiles> open_image_folder(const std::filesystem::path& folder) {
  return std::make_unique<FolderFiles>(folder);
}

}  // namespace epochbench
