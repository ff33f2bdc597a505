// A result in the formats of other tools: the list of them, and what each of them holds.
//
// Pure functions from a result to text; src/cli/export.cpp decides where the text goes. A format that has no
// place for a run says why, so that the caller can report it: nothing is dropped silently. Unknown values are left out or
// empty, never 0, and no number is NaN or infinite.
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
  bool keep = false;  // one that is there already stays as it is
};

struct ExportForm {
  std::string (*left_out)(const Run&) = nullptr;  // why it has no place for this run; empty: it has
  std::string (*text)(const Result&) = nullptr;   // of the runs that it has a place for. Errors: FormatError
};

struct ExportFormat {
  const char* name;   // of --format
  const char* about;  // for the help: what reads it, and what becomes of repetitions
  ExportForm whole;
  ExportForm raw = {};  // with one row per step; empty: there is no such form
  // As a folder, whose absolute path is `root`, of the runs that `whole` has a place for; nullptr: there is no such form.
  std::vector<ExportFile> (*folder)(const Result& result, const std::string& root) = nullptr;
  // Which files of a folder readers take for one set, by their names; nullptr: none.
  bool (*of_the_set)(std::string_view file_name) = nullptr;
  bool folder_first = false;  // so is a path that is not there yet, but for *.json and *.jsonl
};

std::span<const ExportFormat> export_formats();
const ExportFormat* find_export_format(std::string_view name);  // nullptr: there is none
// The one that a file's suffix names: .csv, .md and .markdown, .prom; nullptr: none.
const ExportFormat* export_format_of_suffix(const std::string& path);

// For files that are read as one set. Errors: FileError where the folder has a file that `of_the_set` takes for one of them,
// and that is none: it would be read along with them.
void refuse_others_of_the_set(const std::string& root, const std::vector<ExportFile>& files,
                              bool (*of_the_set)(std::string_view file_name));

// Makes the folders that are missing and writes the files in their order. Unlike a result file they are not replaced as one: a
// reader that looks meanwhile sees some of them. Errors: FileError (src/base/files.h).
void write_export_folder(const std::string& root, const std::vector<ExportFile>& files);

}  // namespace epochbench
