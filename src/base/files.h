// Files: read whole, within a limit, and replaced whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "src/base/errors.h"

namespace epochbench {

inline constexpr std::size_t kMaxTextBytes = std::size_t{256} << 20;

inline constexpr const char* kStandardStream = "-";  // in place of a file: stdin for one that is read, else stdout

// The bytes of a file, or of a pipe or stdin until the end, of at most `max_bytes`. Errors: FormatError, with the system's
// reason.
std::string read_text_file(const std::string& path, std::size_t max_bytes = kMaxTextBytes);

// Errors: FormatError that names the source of a text if its size in bytes is too large.
void require_at_most(std::size_t max_bytes, std::uint64_t bytes, const std::string& source);

// A small file of /proc or /sys; empty if it cannot be read.
std::optional<std::string> read_system_file(const std::string& path);

enum class Sync {
  disk,  // the file, then its new name in the folder, reach the disk: both survive a power cut
  none   // the system decides when: for many files that can be recreated
};

// A file that is written beside its place and then renamed, so that no reader ever sees a part of it. It gets the mode and the
// owner of the one that it replaces. Its name is unique and unpredictable, and it is locked (flock) until it is renamed or
// removed: one without a lock was left by a process that died. Errors: error() is the errno of the step that failed.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string place);
  ~TemporaryFile();  // removes the file unless it was renamed
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  int error() const { return error_; }  // 0: none so far
  bool write(std::string_view bytes);
  bool move_to_place(Sync sync = Sync::disk);

 private:
  bool fail();

  std::string place_, folder_, path_;
  int fd_ = -1, error_ = 0;
};

// Holds a lock (flock) of the file at `path`, which is created and stays. Waits up to 10 s for other processes, then goes
// on without the lock, and at once if no lock is possible: for updates that may be lost, but not torn.
class FileLock {
 public:
  explicit FileLock(const std::string& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int fd_;
};

bool is_stream(const std::string& path);  // whether there is a pipe or a device, such as /dev/stdout

// Writes the whole text into a stream, or by a TemporaryFile, or into the file itself where that cannot be replaced: a mounted
// one, or one in a folder that takes no other. Errors: FileError; a file that can be replaced is then unchanged.
void write_text_file(const std::string& path, std::string_view text, Sync sync = Sync::disk);

enum class Existing { replaced, refused };  // an empty file is replaced in either case

class FileTaken : public FileError {  // the file exists, or another process writes it
 public:
  using FileError::FileError;
};

// A file that every reader sees with either the old text or the new one. While this object lives, no other process can write
// the file through a ResultFile: a second writer fails. The lock is a file beside it, because a rename puts another file in its
// place. On a file system without locks nothing is locked.
class ResultFile {
 public:
  // Checks, without changing the file at `path`, that it can be written, and removes temporary files that dead processes left
  // in its folder. A symbolic link is followed, and stays a link. Errors: FileTaken, FileError; one line.
  explicit ResultFile(const std::string& path, Existing existing = Existing::replaced);
  // The first of "BASE.SUFFIX", "BASE-2.SUFFIX", ... that is not taken.
  static ResultFile with_free_name(const std::string& base, const std::string& suffix);

  // As write_text_file().
  void write(std::string_view text) const;

  const std::string& path() const { return path_; }

 private:
  class Lock {  // locks an open file; the destructor removes the file
   public:
    explicit Lock(std::string path);
    Lock(Lock&& other) noexcept : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}
    ~Lock();
    bool taken_elsewhere() const { return taken_elsewhere_; }

   private:
    std::string path_;
    int fd_ = -1;
    bool taken_elsewhere_ = false;
  };

  std::string path_;
  std::optional<Lock> lock_;
};

}  // namespace epochbench
