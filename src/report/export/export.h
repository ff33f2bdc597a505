// A result in the formats of other tools: the list of formats, and what each one contains.
//
// Pure functions from a result to text; src/cli/export.cpp decides where the text goes. A format that cannot represent a run
// says why, so that the caller can report it: nothing is dropped silently. Unknown values are left out or empty, never 0, and
// no number is NaN or infinite.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/result/result.h"

namespace epochbench {

struct ExportFile {
  std::string path;   // below the folder, with '/' and without ".."; one that ends with '/' is a folder
  std::string text;   // its bytes
  bool keep = false;  // a file that already exists stays as it is
};

struct ExportForm {
  std::string (*left_out)(const Run&) = nullptr;  // why it cannot represent this run; empty: it can
  std::string (*text)(const Result&) = nullptr;   // of the runs that it can represent. Errors: FormatError
};

struct ExportFormat {
  const char* name;   // of --format
  const char* about;  // for the help: what reads it, and how repetitions appear
  ExportForm whole;
  ExportForm raw = {};  // with one row per step; empty: not available
  // As a folder with the absolute path `root`, of the runs that `whole` can represent; nullptr: not available.
  std::vector<ExportFile> (*folder)(const Result& result, const std::string& root) = nullptr;
  // Whether readers of a folder take a file with this name as part of the set; nullptr: none.
  bool (*of_the_set)(std::string_view file_name) = nullptr;
  bool folder_first = false;  // a path that does not exist is a folder, except *.json and *.jsonl
};

std::span<const ExportFormat> export_formats();
const ExportFormat* find_export_format(std::string_view name);  // nullptr: unknown
// The format for a file's suffix: .csv, .md and .markdown, .prom; nullptr: none.
const ExportFormat* export_format_of_suffix(const std::string& path);

// For files that are read as one set. Errors: FileError if the folder has another file that `of_the_set` accepts, since it
// would be read along with them.
void refuse_others_of_the_set(const std::string& root, const std::vector<ExportFile>& files,
                              bool (*of_the_set)(std::string_view file_name));

// Creates missing folders and writes the files in order. Unlike a result file they are not replaced atomically: a concurrent
// reader may see only some of them. Errors: FileError (src/base/files.h).
void write_export_folder(const std::string& root, const std::vector<ExportFile>& files);

}  // namespace epochbench
