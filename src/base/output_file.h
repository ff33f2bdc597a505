// A file that is replaced whole or not at all: every reader, at any moment, sees the old text or the new one.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace epochbench {

class FileError : public std::runtime_error {  // cannot be written: exit code 2
 public:
  using std::runtime_error::runtime_error;
};

class ResultFile {
 public:
  // Checks, without touching what lies at `path`, that it can be replaced. A symbolic link is followed, so the link stays.
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
