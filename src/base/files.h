// Files: read whole, within a limit, and replaced whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/errors.h"

namespace epochbench {

inline constexpr std::size_t kMaxTextBytes = std::size_t{256} << 20;

// The bytes of a regular file of at most `max_bytes`. Errors: FormatError, with the system's reason.
std::string read_text_file(const std::string& path, std::size_t max_bytes = kMaxTextBytes);

// Errors: FormatError that names the source of a text of so many bytes where it is too large.
void require_at_most(std::size_t max_bytes, std::uint64_t bytes, const std::string& source);

// A small file of /proc or /sys; empty where it cannot be read.
std::optional<std::string> read_system_file(const std::string& path);

// A file that every reader sees with the old text or with the new one, at any moment.
class ResultFile {
 public:
  // Checks, without changing the file at `path`, that it can be replaced. A symbolic link is followed, so the link stays.
  // Errors: FileError, one line.
  explicit ResultFile(const std::string& path);

  // Temporary file in the same folder, write, fsync, rename, fsync of the folder. On a FileError the old file is as it was and
  // the temporary one is gone.
  void write(std::string_view text) const;

  const std::string& path() const { return path_; }

 private:
  std::string temporary() const;

  std::string path_, folder_;
};

}  // namespace epochbench
