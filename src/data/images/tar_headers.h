// The headers of a tar archive, one after the other: POSIX ustar, with pax's records and GNU's long names and large sizes.
//
// Own code, as libarchive reads archives as streams and does not report where a file's bytes are, which reading in any order
// requires.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/base/file_descriptor.h"

namespace epochbench {

struct TarMember {
  std::string name;
  std::uint64_t offset = 0, bytes = 0;  // of its contents in the archive
  char type = '0';                      // as in the header: 0 a file, 1 a hard link, 2 a symbolic one, 5 a folder
};

class TarHeaders {
 public:
  // `shown`: the archive's name for messages. The file must stay open.
  TarHeaders(const FileDescriptor& file, std::uint64_t size, std::string shown)
      : file_(file), size_(size), shown_(std::move(shown)) {}

  // The next member; empty at the end. Errors: DataError for an invalid header, and contents beyond the end of the file.
  std::optional<TarMember> next();

 private:
  static constexpr std::size_t kBlock = 512;
  struct Overrides {  // what the entries before a member say about it
    std::optional<std::string> name;
    std::optional<std::uint64_t> bytes;
  };
  bool read_block(std::uint8_t* block);
  std::string contents_of(const TarMember& member) const;
  void read_pax(Overrides& overrides, const std::string& records) const;
  [[noreturn]] void fail(const std::string& what) const;

  const FileDescriptor& file_;
  const std::uint64_t size_;
  const std::string shown_;
  std::uint64_t at_ = 0;
};

}  // namespace epochbench
