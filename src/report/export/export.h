// A result in the formats of other tools: the list of them, and what each of them holds.
//
// Pure functions from a result to text; where text goes is the caller's business (src/cli/export.cpp). A format that has no
// place for a run says why, so that the caller can report it: nothing is dropped silently. Unknown values are left out or
// empty, never 0, and no number is NaN or infinite.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/report/export/export_folder.h"
#include "src/result/result.h"

namespace epochbench {

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

}  // namespace epochbench
