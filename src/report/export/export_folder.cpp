#include "src/report/export/export_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "src/base/files.h"

namespace epochbench {
namespace {

namespace fs = std::filesystem;

FileError failure(const fs::path& path, const std::string& why) {
  return FileError("cannot write " + path.string() + ": " + why + "; choose another place with --out");
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw failure(path, error.message());
}

}  // namespace

void refuse_others_of_the_set(const std::string& root, const std::vector<ExportFile>& files,
                              bool (*of_the_set)(std::string_view file_name)) {
  std::error_code none;  // then nothing lies there
  for (const fs::directory_entry& entry : fs::directory_iterator(root, none)) {
    const std::string name = entry.path().filename().string();
    const auto is_it = [&](const ExportFile& file) { return file.path == name; };
    if (of_the_set(name) && std::none_of(files.begin(), files.end(), is_it))
      throw FileError(entry.path().string() + " is of another export, and would be read as one of this: remove it, or " +
                      "choose another folder with --out");
  }
}

void write_export_folder(const std::string& root, const std::vector<ExportFile>& files) {
  make_folder(root);
  for (const ExportFile& file : files) {
    const fs::path path = fs::path(root) / file.path;
    std::error_code unknown;
    if (file.keep && fs::exists(path, unknown)) continue;
    make_folder(path.parent_path());  // of "a/b/", that is "a/b"
    if (file.path.back() == '/') continue;
    if (file.keep) {  // whole or not at all: no later export would repair a part of it
      ResultFile(path.string()).write(file.text);
      continue;
    }
    errno = 0;
    std::ofstream stream(path, std::ios::binary | std::ios::trunc);
    stream << file.text << std::flush;
    if (!stream) throw failure(path, errno ? std::strerror(errno) : "the text was not taken");
  }
}

}  // namespace epochbench
