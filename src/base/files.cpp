#include "src/base/files.h"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "src/base/errors.h"
#include "src/base/file_descriptor.h"

namespace epochbench {
namespace {

FileError failure(const std::string& path, const std::string& why) {
  return FileError("cannot write " + path + ": " + why + "; choose another place with --out");
}

FileError failure(const std::string& path, int error) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code ignored;
  if (error == ENOENT && !folder.empty() && !std::filesystem::exists(folder, ignored))
    return failure(path, "the folder " + folder.string() + " does not exist");
  if (error == ENOENT && folder.empty() && std::filesystem::current_path(ignored).empty())
    return failure(path, "the current folder was removed");
  return failure(path, error_text(error));
}

constexpr const char* kPrefix = ".epochbench-";

std::string hex(std::uint64_t number) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

// A process locks a file a moment after creating it; in between, another process that looks for stale files may have locked and
// removed it.
bool is_removed(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) != 0 || status.st_nlink == 0;
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// Stale files: temporary files and locks whose process died, so that their lock can be taken.
void remove_stale_files(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (auto entry = fs::directory_iterator(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(kPrefix) || !(name.ends_with(".tmp") || name.ends_with(".lock"))) continue;
    const int fd = ::open(entry->path().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) continue;
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0 && !is_removed(fd)) ::unlink(entry->path().c_str());
    ::close(fd);
  }
}

// The place that `path` names once its links are followed, whether or not something is there.
std::string linked_place(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr int kMaxLinks = 40;  // the kernel's limit
  fs::path place = path;
  std::error_code error;
  for (int links = 0; fs::is_symlink(fs::symlink_status(place, error)); ++links) {
    if (links == kMaxLinks) throw failure(path, ELOOP);
    const fs::path target = fs::read_symlink(place, error);
    if (error) throw failure(path, error.message());
    place = place.parent_path() / target;  // an absolute target replaces the parent path
  }
  return place.string();
}

// A pipe of another process already has its writer; a named one may wait for it, and would seem empty.
void wait_for_writer(int pipe) {
  struct statfs system {};
  pollfd data{pipe, POLLIN, 0};
  if (::fstatfs(pipe, &system) == 0 && system.f_type != PIPEFS_MAGIC) ::poll(&data, 1, -1);
  ::fcntl(pipe, F_SETFL, O_RDONLY);  // reads wait
}

// Returns 0, or the errno of the write that failed.
int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  return 0;
}

// Whether fsync failed because the file system, or a sandbox, has none.
bool reached_disk(int fd) {
  return ::fsync(fd) == 0 || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP || errno == EPERM;
}

// Errors of putting a file in the place of another where that one may still be written: it is mounted, as by `docker run -v`,
// or its folder takes no other file.
bool may_be_written_in_place(int error) { return error == EBUSY || error == EROFS || error == EACCES || error == EPERM; }

// Overwrites a file; readers may see a part. Returns 0 or errno.
int overwrite(const std::string& path, std::string_view text, Sync sync) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) return errno;
  if (const int error = write_all(file.number(), text)) return error;
  if (::ftruncate(file.number(), static_cast<off_t>(text.size())) != 0 && errno != EINVAL)
    return errno;  // a stream has no size
  return sync == Sync::none || reached_disk(file.number()) ? 0 : errno;
}

// A new file gets the owner, as far as this user may do that, and the mode of the one that it replaces.
void keep_access(int fd, const std::string& place) {
  struct stat old {};
  if (::stat(place.c_str(), &old) != 0 || !S_ISREG(old.st_mode)) return;
  if (::fchown(fd, old.st_uid, old.st_gid) != 0 && ::fchown(fd, static_cast<uid_t>(-1), old.st_gid) != 0) errno = 0;
  ::fchmod(fd, old.st_mode & 0777);
}

}  // namespace

void require_at_most(std::size_t max_bytes, std::uint64_t bytes, const std::string& source) {
  if (bytes > max_bytes)
    throw FormatError(source + ": larger than " + std::to_string(max_bytes >> 20) +
                      " MiB, more than epochbench reads; name another file, or divide this one");
}

std::string read_text_file(const std::string& path, std::size_t max_bytes) {
  const auto fail = [&](const std::string& why) { return FormatError(path + ": " + why); };
  const int fd = path == kStandardStream ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                         : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) throw fail("cannot be read: " + error_text(errno));
  struct Closer {
    int fd;
    ~Closer() { ::close(fd); }
  } closer{fd};
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw fail("cannot be read: " + error_text(errno));
  if (S_ISDIR(status.st_mode)) throw fail("a folder; name a file");
  const bool is_read_to_its_end = S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode);  // some programs feed others by sockets
  if (!S_ISREG(status.st_mode) && !is_read_to_its_end) throw fail("neither a file nor a pipe; name a file");
  if (S_ISFIFO(status.st_mode)) wait_for_writer(fd);
  require_at_most(max_bytes, static_cast<std::uint64_t>(status.st_size), path);
  std::string text;
  char block[1 << 16];
  for (;;) {
    const ssize_t got = ::read(fd, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw fail("cannot be read: " + error_text(errno));
    if (got == 0) return text;
    text.append(block, static_cast<std::size_t>(got));
    require_at_most(max_bytes, text.size(), path);  // it may grow, or report no size
  }
}

std::optional<std::string> read_system_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TemporaryFile::TemporaryFile(std::string place) : place_(std::move(place)), folder_(folder_of(place_)) {
  std::random_device random;
  do {
    if (fd_ >= 0) ::close(fd_);
    path_ = folder_ + "/" + kPrefix + hex(std::uint64_t{random()} << 32 | random()) + ".tmp";
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0 && errno != EEXIST) {
      error_ = errno;
      path_.clear();
      return;
    }
    if (fd_ >= 0) ::flock(fd_, LOCK_EX);
  } while (fd_ < 0 || is_removed(fd_));
}

TemporaryFile::~TemporaryFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
  if (fd_ >= 0) ::close(fd_);
}

bool TemporaryFile::fail() {
  error_ = errno;
  return false;
}

bool TemporaryFile::write(std::string_view bytes) {
  if (error_ == 0) error_ = write_all(fd_, bytes);
  return error_ == 0;
}

bool TemporaryFile::move_to_place(Sync sync) {
  if (error_ != 0) return false;
  if (sync == Sync::disk && !reached_disk(fd_)) return fail();
  keep_access(fd_, place_);
  // close() before rename(): a network file system may report a failed write only here. The copy keeps the lock.
  const int lock = ::fcntl(fd_, F_DUPFD_CLOEXEC, 0);
  const bool closed = ::close(std::exchange(fd_, lock)) == 0;
  if (!closed || ::rename(path_.c_str(), place_.c_str()) != 0) return fail();
  path_.clear();
  if (sync == Sync::none) return true;
  // The rename itself must reach the disk. Some file systems cannot sync a folder; the new file is still complete there.
  const int folder = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
  return true;
}

FileLock::FileLock(const std::string& path) : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666)) {
  constexpr int kTries = 1000, kWaitMilliseconds = 10;
  for (int tries = 1; fd_ >= 0 && ::flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK && tries < kTries; ++tries)
    ::poll(nullptr, 0, kWaitMilliseconds);
}

FileLock::~FileLock() {
  if (fd_ >= 0) ::close(fd_);
}

bool is_stream(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

void write_text_file(const std::string& path, std::string_view text, Sync sync) {
  if (is_stream(path)) {
    if (const int error = overwrite(path, text, Sync::none)) throw failure(path, error);
    return;
  }
  TemporaryFile file(path);
  if (file.write(text) && file.move_to_place(sync)) return;
  const int error = may_be_written_in_place(file.error()) ? overwrite(path, text, sync) : file.error();
  if (error != 0) throw failure(path, error == ENOENT ? file.error() : error);
}

ResultFile::Lock::Lock(std::string path) : path_(std::move(path)) {
  constexpr int kTries = 3;  // another process that looks for stale locks holds one for a moment
  for (int tries = 0; tries < kTries;) {
    fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd_ < 0) return;
    const bool locked = ::flock(fd_, LOCK_EX | LOCK_NB) == 0;
    taken_elsewhere_ = !locked && errno == EWOULDBLOCK;
    if (!taken_elsewhere_ && !is_removed(fd_)) return;
    ::close(std::exchange(fd_, -1));
    if (taken_elsewhere_ && ++tries < kTries) ::poll(nullptr, 0, 1);
  }
}

ResultFile::Lock::~Lock() {
  if (fd_ < 0) return;
  ::unlink(path_.c_str());
  ::close(fd_);
}

ResultFile::ResultFile(const std::string& path, Existing existing) {
  if (path.empty()) throw FileError("--out: the file name is empty; give a name such as result.json");
  if (path == kStandardStream)
    throw FileError("--out: '-' would be a file here, and this output goes to a file only; give a name such as ./-");
  path_ = linked_place(path);
  const std::string folder = folder_of(path_), name = std::filesystem::path(path_).filename().string();
  constexpr std::size_t kMaxNameBytes = 200;  // the name of a lock is longer than that of its file
  remove_stale_files(folder);
  lock_.emplace(folder + "/" + kPrefix + name.substr(0, kMaxNameBytes) + ".lock");
  if (lock_->taken_elsewhere()) throw FileTaken(path + " is being written by another process; choose another name with --out");
  struct stat status {};
  bool exists = false;
  if (::stat(path_.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) throw failure(path, "it is a folder");
    if (!S_ISREG(status.st_mode)) throw failure(path, "it is not a regular file");
    if (existing == Existing::refused && status.st_size > 0)
      throw FileTaken(path + " exists; choose another name with --out, or replace it with --overwrite");
    if (::access(path_.c_str(), W_OK) != 0) throw failure(path, errno);
    exists = true;
  } else if (errno != ENOENT) {
    throw failure(path, errno);
  }
  const TemporaryFile probe(path_);
  if (probe.error() != 0 && !(exists && may_be_written_in_place(probe.error()))) throw failure(path, probe.error());
}

ResultFile ResultFile::with_free_name(const std::string& base, const std::string& suffix) {
  constexpr int kMax = 100'000;
  for (int other = 1;; ++other) try {
      return ResultFile(base + (other == 1 ? "" : "-" + std::to_string(other)) + suffix, Existing::refused);
    } catch (const FileTaken&) {
      if (other == kMax) throw;
    }
}

void ResultFile::write(std::string_view text) const { write_text_file(path_, text); }

}  // namespace epochbench
