// Many files written at once, below one folder. Unlike a result file they are not replaced as one: a reader that looks
// meanwhile sees some of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace epochbench {

struct ExportFile {
  std::string path;   // below the folder, with '/' and without ".."; one that ends with '/' is a folder
  std::string text;   // its bytes
  bool keep = false;  // one that is there already stays as it is
};

// For files that are read as one set. Errors: FileError where the folder has a file that `of_the_set` takes for one of them,
// and that is none: it would be read along with them.
void refuse_others_of_the_set(const std::string& root, const std::vector<ExportFile>& files,
                              bool (*of_the_set)(std::string_view file_name));

// Makes the folders that are missing and writes the files in their order. Errors: FileError (src/base/files.h).
void write_export_folder(const std::string& root, const std::vector<ExportFile>& files);

}  // namespace epochbench
