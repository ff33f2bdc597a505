// Many files written at once, below one folder. Unlike a result file they are not replaced as one: a reader that looks
// meanwhile sees some of them.
#pragma once

#include <string>
#include <vector>

namespace epochbench {

struct ExportFile {
  std::string path;   // below the folder, with '/' and without ".."; one that ends with '/' is a folder
  std::string text;   // its bytes
  bool keep = false;  // one that is there already stays as it is
};

// Makes the folders that are missing and writes the files in their order. Errors: FileError (src/report/result_file.h).
void write_export_folder(const std::string& root, const std::vector<ExportFile>& files);

}  // namespace epochbench
