#include "src/data/images/tar_contents.h"

#include <algorithm>
#include <array>
#include <clocale>
#include <memory>
#include <string_view>

#include <archive.h>
#include <archive_entry.h>

#include "epochbench/dataset.h"
#include "src/base/file_kind.h"
#include "src/base/text.h"
#include "src/data/byte_source.h"

namespace epochbench {
namespace {

// libarchive converts names of pax, which are UTF-8, to the encoding of the locale: in this one they stay as they are.
class Utf8Names {
 public:
  Utf8Names() : names_(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)), before_(names_ ? uselocale(names_) : nullptr) {}
  ~Utf8Names() {
    if (!names_) return;
    uselocale(before_);
    freelocale(names_);
  }
  Utf8Names(const Utf8Names&) = delete;
  Utf8Names& operator=(const Utf8Names&) = delete;

 private:
  locale_t names_, before_;
};

// Parts joined by "/", without "." and empty ones; empty if a part is "..", which is not unpacked.
std::string plain_path(std::string_view path) {
  std::string plain;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(part.size() + 1, path.size()));
    if (part.empty() || part == ".") continue;
    if (part == "..") return "";
    if (!plain.empty()) plain += '/';
    plain += part;
  }
  return plain;
}

// What the target of a symbolic link at `link` is in the archive; empty where that leaves it.
std::string linked_path(const std::string& link, std::string_view target) {
  if (target.starts_with('/')) return "";
  std::string path = parent_path(link);
  while (!target.empty()) {
    const std::string_view part = target.substr(0, target.find('/'));
    target.remove_prefix(std::min(part.size() + 1, target.size()));
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (path.empty()) return "";
      path = parent_path(path);
      continue;
    }
    if (!path.empty()) path += '/';
    path += part;
  }
  return path;
}

}  // namespace

std::string parent_path(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

// The members of an archive, one after another.
class TarContents::Reader {
 public:
  Reader(const FileDescriptor& file, std::uint64_t size, const std::string& shown)
      : file_(file), size_(size), shown_(shown), reader_(archive_read_new()) {
    constexpr std::size_t kBlockBytes = 4096;  // read per header
    if (!reader_) throw std::bad_alloc();
    archive_read_support_format_tar(reader_.get());
    archive_read_set_format_option(reader_.get(), "tar", "read_concatenated_archives", "1");
    if (archive_read_open_fd(reader_.get(), file.number(), kBlockBytes) != ARCHIVE_OK) fail();
  }

  bool next() {
    const int status = archive_read_next_header(reader_.get(), &entry);
    if (status == ARCHIVE_EOF) return false;
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN) fail();
    const char* name = archive_entry_pathname(entry);
    if (!name) throw DataError("data archive " + shown_ + " has a name that cannot be read: write it again");
    path = plain_path(name);
    offset = static_cast<std::uint64_t>(archive_filter_bytes(reader_.get(), 0));
    bytes = archive_entry_filetype(entry) == AE_IFREG && archive_entry_size(entry) > 0
                ? static_cast<std::uint64_t>(archive_entry_size(entry))
                : 0;
    read_regions();
    if (stored() > size_ - std::min(size_, offset))
      throw DataError("data archive " + shown_ + " is truncated: the file " + in_quotes(name) + " goes on beyond its end");
    first_ = false;
    return true;
  }

  archive_entry* entry = nullptr;
  std::string path;  // plain_path()
  std::uint64_t offset = 0, bytes = 0;
  std::vector<TarRegion> regions;  // of a sparse file
  bool sparse = false;

 private:
  void read_regions() {
    regions.clear();
    sparse = archive_entry_sparse_reset(entry) > 0;
    la_int64_t begin = 0, length = 0;
    // One region that is the whole file counts as none, and its list is freed.
    while (sparse && archive_entry_sparse_next(entry, &begin, &length) == ARCHIVE_OK)
      if (length > 0) regions.push_back({static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(length)});
  }
  std::uint64_t stored() const {
    if (!sparse) return bytes;
    std::uint64_t sum = 0;
    for (const TarRegion& region : regions) {
      if (region.begin > bytes || region.bytes > bytes - region.begin)
        throw DataError("data archive " + shown_ + " has the sparse file " + in_quotes(path) +
                        " with a part beyond its end: write it again");
      sum += region.bytes;
    }
    return sum;
  }
  [[noreturn]] void fail() const {
    const char* reason = archive_error_string(reader_.get());
    if (first_) throw DataError("data archive " + shown_ + " " + other_kind());
    throw DataError("data archive " + shown_ + " is truncated or damaged (" + in_quotes(reason ? reason : "no reason") +
                    ", after byte " + std::to_string(archive_filter_bytes(reader_.get(), 0)) + "): write it again");
  }

  std::string other_kind() const {
    std::array<std::uint8_t, kFileKindBytes> begin{};
    const auto got = static_cast<std::size_t>(std::max<ssize_t>(file_.read_at(begin.data(), begin.size(), 0), 0));
    const FileKind kind = file_kind({reinterpret_cast<const char*>(begin.data()), got});
    const char* remedy = "name one; a compressed one must be unpacked first";
    if (kind.name.empty()) return std::string("is not a tar archive: ") + remedy;
    return "is " + std::string(kind.name) + ", not a tar archive: " + (kind.remedy.empty() ? remedy : std::string(kind.remedy));
  }

  struct Free {
    void operator()(archive* reader) const { archive_read_free(reader); }
  };
  const FileDescriptor& file_;
  const std::uint64_t size_;
  const std::string& shown_;
  std::unique_ptr<archive, Free> reader_;
  bool first_ = true;
};

TarContents::TarContents(const FileDescriptor& file, std::uint64_t size, const std::string& shown) {
  const Utf8Names names;
  folder("");
  for (Reader reader(file, size, shown); reader.next();)
    if (!reader.path.empty()) add(reader);
  resolve_links();
}

std::uint32_t TarContents::folder(const std::string& path) {
  if (const auto known = numbers_.find(path); known != numbers_.end()) return known->second;
  if (!path.empty()) folder(parent_path(path));
  folders_.push_back(path);
  return numbers_[path] = static_cast<std::uint32_t>(folders_.size() - 1);
}

void TarContents::add(const Reader& reader) {
  const char* hard = archive_entry_hardlink(reader.entry);
  const char* symbolic = archive_entry_symlink(reader.entry);
  if (!hard && archive_entry_filetype(reader.entry) == AE_IFDIR) {
    folder(reader.path);
    return;
  }
  if (hard || symbolic)
    links_.push_back({files_.size(), hard ? plain_path(hard) : linked_path(reader.path, symbolic), hard != nullptr});
  const std::string parent = parent_path(reader.path);
  const std::string_view name = std::string_view(reader.path).substr(parent.empty() ? 0 : parent.size() + 1);
  const std::uint64_t bytes = hard || symbolic ? 0 : std::min<std::uint64_t>(reader.bytes, UINT32_MAX);
  files_.add(name, folder(parent), reader.offset, static_cast<std::uint32_t>(bytes));
  if (reader.sparse && bytes > 0) regions_[reader.offset] = reader.regions;
}

void TarContents::resolve_links() {
  constexpr int kMaxLinks = 40;  // one after another, as the kernel follows
  if (links_.empty()) return;
  const auto path_to = [&](std::size_t i) {
    const std::string& parent = folders_[files_[i].label];
    return (parent.empty() ? "" : parent + "/") + files_.name(i);
  };
  // A hard link is made when it is unpacked, so it names the last file of that path before it.
  std::unordered_map<std::string, std::size_t> last;
  std::map<std::size_t, const Link*> symbolic;
  std::size_t next = 0;
  for (const Link& link : links_) {
    for (; next <= link.file; ++next)
      if (next != link.file || !link.hard) last[path_to(next)] = next;
    if (!link.hard) {
      symbolic[link.file] = &link;
      continue;
    }
    const auto found = last.find(link.target);
    last[path_to(link.file)] = link.file;
    if (found == last.end())
      open_links_[path_to(link.file)] = link.target;
    else if (const auto other = symbolic.find(found->second); other != symbolic.end())
      symbolic[link.file] = other->second;
    else
      files_.share_contents(link.file, found->second);
  }
  for (; next < files_.size(); ++next) last[path_to(next)] = next;
  for (const auto& [file, link] : symbolic) {
    std::size_t at = file;
    const Link* step = link;
    for (int followed = 0; step && followed < kMaxLinks; ++followed) {
      const auto found = last.find(step->target);
      if (found == last.end()) break;
      at = found->second;
      const auto more = symbolic.find(at);
      step = more == symbolic.end() ? nullptr : more->second;
    }
    if (step)
      open_links_[path_to(file)] = link->target;
    else
      files_.share_contents(file, at);
  }
}

}  // namespace epochbench
