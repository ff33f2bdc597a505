// Images in a tar archive, read in place.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>

#include <fcntl.h>
#include <sys/stat.h>

#include "src/base/errors.h"
#include "src/base/file_descriptor.h"
#include "src/base/text.h"
#include "src/data/byte_source.h"
#include "src/data/folder_hints.h"
#include "src/data/images/decoder.h"
#include "src/data/images/image_files.h"
#include "src/data/images/tar_contents.h"

namespace epochbench {
namespace {

bool is_hidden(const std::string& path) { return path.starts_with('.') || path.find("/.") != std::string::npos; }

std::string below(const std::string& folder, const std::string& name) { return folder.empty() ? name : folder + "/" + name; }

class ArchiveFiles final : public ImageFiles {
 public:
  explicit ArchiveFiles(const std::filesystem::path& path)
      : shown_(in_quotes(path.string())), file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat status {};
    if (!file_ || fstat(file_.number(), &status) != 0) fail("cannot be opened: " + error_text(errno));
    TarContents contents(file_, static_cast<std::uint64_t>(status.st_size), shown_);
    const std::string top = find_top(contents);
    const std::vector<std::string> train = classes_below(contents, below(top, "train"));
    const std::vector<std::string> val = classes_below(contents, below(top, "val"));
    classes_ = train;
    for (const std::string& name : val)
      if (!std::ranges::binary_search(classes_, name))
        fail("has the class " + in_quotes(name) + " in val, that train does not have: use the same classes in both");
    take(contents, top);
    may_be_cut_off_ = !ends_with_marker(static_cast<std::uint64_t>(status.st_size));
    sparse_ = contents.take_regions();
  }

  void read(std::vector<std::uint8_t>& bytes, Split split, std::int64_t index) const override {
    const ImageList::Entry& entry = list(split)[static_cast<std::size_t>(index)];
    check_size(entry.bytes);
    bytes.resize(entry.bytes);
    const auto sparse = sparse_.find(entry.offset);
    if (sparse == sparse_.end()) {
      bytes.resize(read_part(bytes.data(), entry.bytes, entry.offset));
      return;
    }
    std::ranges::fill(bytes, std::uint8_t{0});
    std::uint64_t offset = entry.offset;
    for (const TarRegion& region : sparse->second) {
      read_part(bytes.data() + region.begin, region.bytes, offset);
      offset += region.bytes;
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw DataError("data archive " + shown_ + " " + what); }

  std::size_t read_part(std::uint8_t* bytes, std::uint64_t count, std::uint64_t offset) const {
    if (cold_) file_.drop_pages(offset, count);
    const ssize_t got = file_.read_at(bytes, count, offset);
    if (got < 0) throw BadImage("cannot be read: " + error_text(errno));
    return static_cast<std::size_t>(got);
  }

  // An archive ends with two blocks of zeros. Without them it may have been cut off between two files.
  bool ends_with_marker(std::uint64_t size) const {
    std::array<std::uint8_t, 1024> end{};
    const std::uint64_t count = std::min<std::uint64_t>(size, end.size());
    end[0] = 1;  // where nothing is read
    file_.read_at(end.data(), count, size - count);
    return std::ranges::all_of(end, [](std::uint8_t byte) { return byte == 0; });
  }

  static std::string names_at_top(const TarContents& contents) {
    std::vector<std::string> names;
    const auto add = [&](const std::string& name) {
      if (!name.empty() && !is_hidden(name) && names.size() < kMaxNames) names.push_back(name);
    };
    for (const std::string& folder : contents.folders())
      if (folder.find('/') == std::string::npos) add(folder);
    for (std::size_t i = 0; i < contents.files().size(); ++i)
      if (contents.files()[i].label == 0) add(contents.files().name(i));
    std::ranges::sort(names);
    return first_names(names);
  }

  // The folder that has train and val: the top of the archive, or the only other one.
  std::string find_top(const TarContents& contents) const {
    std::map<std::string, int> found;
    for (const std::string& folder : contents.folders())
      for (const char* split : {"train", "val"})
        if (!folder.empty() && !is_hidden(folder) && folder == below(parent_path(folder), split)) ++found[parent_path(folder)];
    if (const auto top = found.find(""); top != found.end() && top->second == 2) return "";
    std::vector<std::string> tops;
    for (const auto& [folder, splits] : found)
      if (splits == 2) tops.push_back(folder);
    if (tops.size() > 1)
      fail("has the folders train and val in " + in_quotes(tops[0]) + " and in " + in_quotes(tops[1]) +
           ": leave one in the archive, or unpack it and name the folder");
    if (tops.empty())
      fail(found.empty() ? "has no image train/CLASS/FILE" + names_at_top(contents) + ": archive the folders train and val"
                         : "has no folder with both train and val: it must have train/CLASS/FILE and val/CLASS/FILE");
    return tops.front();
  }

  // Sorted. Every folder of a split is a class, and has no folder itself.
  std::vector<std::string> classes_below(const TarContents& contents, const std::string& split) const {
    std::vector<std::string> classes;
    for (const std::string& folder : contents.folders()) {
      if (!folder.starts_with(split + "/") || is_hidden(folder.substr(split.size() + 1))) continue;
      const std::vector<std::string> parts = epochbench::split(folder.substr(split.size() + 1), '/');
      if (parts.size() == 1) classes.push_back(parts[0]);
      if (parts.size() == 2)
        fail("has the folder " + in_quotes(folder) + ": images must lie directly in the folder of their class");
    }
    for (const auto& [link, target] : contents.open_links())
      if (link == split || parent_path(link) == split || (parent_path(parent_path(link)) == split && is_image_name(link)))
        fail("has " + in_quotes(link) + " as a link to " + in_quotes(target) +
             ", which is not a file in it: write it with tar --dereference");
    if (classes.empty())
      fail("has no folder per class in " + in_quotes(split) + ": archive " + in_quotes(split + "/CLASS/FILE"));
    std::ranges::sort(classes);
    return classes;
  }

  // The images of both splits, of several files of one name the last.
  void take(const TarContents& contents, const std::string& top) {
    const std::vector<std::string>& folders = contents.folders();
    const ImageList& files = contents.files();
    std::vector<bool> in_split(folders.size()), in_test(folders.size());
    std::vector<std::uint32_t> labels(folders.size()), images(folders.size());
    for (std::size_t i = 0; i < folders.size(); ++i) {
      const std::string split = parent_path(folders[i]);
      in_test[i] = split == below(top, "val");
      in_split[i] = in_test[i] || split == below(top, "train");
      const std::string name = folders[i].substr(split.empty() ? 0 : split.size() + 1);
      if (is_hidden(name)) in_split[i] = false;
      labels[i] = static_cast<std::uint32_t>(std::ranges::lower_bound(classes_, name) - classes_.begin());
    }
    const std::vector<bool> replaced = files.replaced();
    for (std::size_t i = 0; i < files.size(); ++i) {
      const ImageList::Entry& file = files[i];
      const std::string& folder = folders[file.label];
      const bool in_no_class = folder == below(top, "train") || folder == below(top, "val");
      if (in_no_class && !replaced[i] && is_image_name(files.name(i))) ++loose_;
      if (replaced[i] || !in_split[file.label] || is_hidden(files.name(i))) continue;
      if (!is_image_name(files.name(i))) {
        ++others_;
        continue;
      }
      ++images[file.label];
      (in_test[file.label] ? test_ : train_).add(files.name(i), labels[file.label], file.offset, file.bytes);
    }
    for (std::size_t i = 0; i < folders.size(); ++i)
      if (in_split[i] && images[i] == 0)
        fail("has no image in " + in_quotes(folders[i]) + ": put .jpg, .jpeg or .png files there, or remove the class");
  }

  std::string shown_;
  FileDescriptor file_;
  std::map<std::uint64_t, std::vector<TarRegion>> sparse_;  // by offset
};

}  // namespace

std::unique_ptr<ImageFiles> open_image_archive(const std::filesystem::path& file) {
  return std::make_unique<ArchiveFiles>(file);
}

}  // namespace epochbench
