#include "src/base/files.h"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace epochbench {
namespace {

FileError failure(const std::string& path, const std::string& why) {
  return FileError("cannot write " + path + ": " + why + "; choose another place with --out");
}

// Removes the file at the end unless it was renamed.
class Temporary {
 public:
  explicit Temporary(std::string path) : path_(std::move(path)) {
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    error_ = fd_ < 0 ? errno : 0;
  }
  ~Temporary() {
    if (fd_ >= 0) ::close(fd_);
    if (error_ == 0 && !renamed_) ::unlink(path_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  int error() const { return error_; }

  bool write(std::string_view text) {
    while (!text.empty()) {
      const ssize_t done = ::write(fd_, text.data(), text.size());
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) return false;
      text.remove_prefix(static_cast<std::size_t>(done));
    }
    return ::fsync(fd_) == 0;
  }

  bool rename_to(const std::string& target) {
    // close() before rename(): a network file system may report a failed write only here.
    const int closed = ::close(fd_);
    fd_ = -1;
    renamed_ = closed == 0 && ::rename(path_.c_str(), target.c_str()) == 0;
    return renamed_;
  }

 private:
  std::string path_;
  int fd_ = -1, error_ = 0;
  bool renamed_ = false;
};

}  // namespace

void require_at_most(std::size_t max_bytes, std::uint64_t bytes, const std::string& source) {
  if (bytes > max_bytes)
    throw FormatError(source + ": larger than " + std::to_string(max_bytes >> 20) +
                      " MiB, more than epochbench reads; name another file, or divide this one");
}

std::string read_text_file(const std::string& path, std::size_t max_bytes) {
  const auto fail = [&](const std::string& why) { return FormatError(path + ": " + why); };
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) throw fail(std::string("cannot be read: ") + std::strerror(errno));
  struct Closer {
    int fd;
    ~Closer() { ::close(fd); }
  } closer{fd};
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw fail(std::string("cannot be read: ") + std::strerror(errno));
  if (S_ISDIR(status.st_mode)) throw fail("a folder; name a file");
  if (!S_ISREG(status.st_mode)) throw fail("not a regular file");
  require_at_most(max_bytes, static_cast<std::uint64_t>(status.st_size), path);
  std::string text;
  char block[1 << 16];
  for (;;) {
    const ssize_t got = ::read(fd, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw fail(std::string("cannot be read: ") + std::strerror(errno));
    if (got == 0) return text;
    text.append(block, static_cast<std::size_t>(got));
    require_at_most(max_bytes, text.size(), path);  // it grows, or has no size
  }
}

std::optional<std::string> read_system_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

ResultFile::ResultFile(const std::string& path) : path_(path) {
  namespace fs = std::filesystem;
  if (path.empty()) throw FileError("--out: the file name is empty; give a name such as result.json");
  std::error_code error;
  if (fs::is_symlink(path, error)) {
    path_ = fs::weakly_canonical(path, error).string();
    if (error) throw failure(path, error.message());
  }
  folder_ = fs::path(path_).parent_path().string();
  if (folder_.empty()) folder_ = ".";
  struct stat status {};
  if (::stat(path_.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) throw failure(path, "it is a folder");
    if (!S_ISREG(status.st_mode)) throw failure(path, "it is not a regular file");
    if (::access(path_.c_str(), W_OK) != 0) throw failure(path, std::strerror(errno));
  } else if (errno != ENOENT) {
    throw failure(path, std::strerror(errno));
  }
  const Temporary probe(temporary());
  if (probe.error() != 0) throw failure(path, std::strerror(probe.error()));
}

std::string ResultFile::temporary() const { return folder_ + "/.epochbench-" + std::to_string(::getpid()) + ".tmp"; }

void ResultFile::write(std::string_view text) const {
  {
    Temporary file(temporary());
    if (file.error() != 0) throw failure(path_, std::strerror(file.error()));
    if (!file.write(text) || !file.rename_to(path_)) throw failure(path_, std::strerror(errno));
  }
  // The rename itself must reach the disk. Some file systems cannot sync a folder; the new file is whole there all the same.
  const int folder = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
}

}  // namespace epochbench
