// Images in a tar archive, read in place.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

#include "src/base/file_descriptor.h"
#include "src/base/text.h"
#include "src/data/byte_source.h"
#include "src/data/images/decoder.h"
#include "src/data/images/image_files.h"
#include "src/data/images/tar_headers.h"

namespace epochbench {
namespace {

class ArchiveFiles final : public ImageFiles {
 public:
  explicit ArchiveFiles(const std::filesystem::path& path)
      : shown_(in_quotes(path.string())), file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat status {};
    if (!file_ || fstat(file_.number(), &status) != 0) fail(std::string("cannot be opened: ") + std::strerror(errno));
    TarHeaders headers(file_, static_cast<std::uint64_t>(status.st_size), shown_);
    while (const auto member = headers.next()) add(*member);
    finish();
  }

  void read(std::vector<std::uint8_t>& bytes, Split split, std::int64_t index) const override {
    const ImageList::Entry& entry = list(split)[static_cast<std::size_t>(index)];
    bytes.resize(entry.bytes);
    if (cold_) file_.drop_pages(entry.offset, entry.bytes);
    const ssize_t got = file_.read_at(bytes.data(), entry.bytes, entry.offset);
    if (got < 0) throw BadImage(std::string("cannot be read: ") + std::strerror(errno));
    bytes.resize(static_cast<std::size_t>(got));
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw DataError("data archive " + shown_ + " " + what); }

  // The last three parts of its path are the split, the class and the file; folders before them are ignored.
  void add(const TarMember& member) {
    if (std::strchr("127", member.type) == nullptr && member.type != '0' && member.type != '\0') return;
    const std::vector<std::string> parts = split(member.name, '/');
    if (parts.size() < 3 || member.name.find('\0') != std::string::npos) return;
    const std::string &folder = parts[parts.size() - 3], &class_name = parts[parts.size() - 2], &name = parts.back();
    const bool test = folder == "val";
    if ((folder != "train" && !test) || class_name.empty() || !is_image_name(name)) return;
    if (member.type == '1' || member.type == '2')
      fail("has the image " + in_quotes(member.name) + " as a link: write it with tar --dereference --hard-dereference");
    if (member.bytes > kMaxImageBytes)
      fail("has the image " + in_quotes(member.name) + " of " + std::to_string(member.bytes) + " bytes, more than the " +
           std::to_string(kMaxImageBytes) + " that are read: leave it out");
    const auto [known, is_new] = numbers_.emplace(class_name, static_cast<std::uint32_t>(numbers_.size()));
    if (!test) in_train_.insert_or_assign(known->second, true);
    (test ? test_ : train_).add(name, known->second, member.offset, static_cast<std::uint32_t>(member.bytes));
  }

  // Numbers the classes by name, and refuses what a folder would not have.
  void finish() {
    if (train_.size() == 0) fail("has no image train/CLASS/FILE: archive the folders train and val");
    if (test_.size() == 0) fail("has no image val/CLASS/FILE: archive the folder val, too");
    std::vector<std::uint32_t> by_name(numbers_.size());
    for (const auto& [name, number] : numbers_) {
      if (!in_train_.contains(number))
        fail("has the class " + in_quotes(name) + " in val, that train does not have: use the same classes in both");
      by_name[number] = static_cast<std::uint32_t>(classes_.size());
      classes_.push_back(name);
    }
    for (ImageList* list : {&train_, &test_}) {
      list->renumber(by_name);
      if (const std::string twice = list->duplicate(classes_); !twice.empty())
        fail("has " + in_quotes((list == &train_ ? "train/" : "val/") + twice) + " twice: write it again");
    }
    numbers_.clear();
    in_train_.clear();
  }

  std::string shown_;
  FileDescriptor file_;
  std::map<std::string, std::uint32_t> numbers_;  // of classes, in order of appearance
  std::map<std::uint32_t, bool> in_train_;
};

}  // namespace

std::unique_ptr<ImageFiles> open_image_archive(const std::filesystem::path& file) {
  return std::make_unique<ArchiveFiles>(file);
}

}  // namespace epochbench
