// An open file of the system, closed with the object.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace epochbench {

class FileDescriptor {
 public:
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  ~FileDescriptor() { close(); }
  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }
  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

  // Drops the unmodified pages of these bytes from the page cache, so that the disk is read again.
  void drop_pages(std::uint64_t offset, std::uint64_t size) const {
    posix_fadvise(number_, static_cast<off_t>(offset), static_cast<off_t>(size), POSIX_FADV_DONTNEED);
  }

  // Reads up to `size` bytes from `offset`, fewer only at the end of the file; -1 with errno for an error.
  ssize_t read_at(std::uint8_t* bytes, std::size_t size, std::uint64_t offset) const {
    std::size_t total = 0;
    while (total < size) {
      const ssize_t got = pread(number_, bytes + total, size - total, static_cast<off_t>(offset + total));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return -1;
      if (got == 0) break;
      total += static_cast<std::size_t>(got);
    }
    return static_cast<ssize_t>(total);
  }

 private:
  int number_;
};

}  // namespace epochbench
