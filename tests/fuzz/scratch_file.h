// Bytes as a regular file in memory, for readers that take a path. It is deleted with the object.
#pragma once

#include <filesystem>
#include <string_view>

namespace epochbench::fuzz {

class ScratchFile {
 public:
  ScratchFile();  // empty. Errors: std::system_error
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  void hold(std::string_view bytes);  // replaces the contents. Errors: std::system_error
  const std::filesystem::path& path() const { return path_; }

 private:
  int fd_;
  std::filesystem::path path_;
};

}  // namespace epochbench::fuzz
