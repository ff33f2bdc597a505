// Keeps the result on disk while a suite runs, and does not lose it when the disk is full.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/files.h"
#include "src/report/export/export.h"
#include "src/result/result.h"

namespace epochbench {

class ResultKeeper {
 public:
  // Without a file nothing is kept.
  ResultKeeper(std::optional<ResultFile> file, bool anonymous) : file_(std::move(file)), anonymous_(anonymous) {}

  // Writes the result. The first failure is printed; later calls try again.
  void save(const Result& result);

  // Call after the last save. If the file could not be written, writes to the first of the folders for temporary files, of the
  // user and of this call that takes it, and prints where; if none does, prints the result to stdout.
  // Returns whether the result is in the requested file.
  bool finish(const Result& result);

  std::string path() const { return file_ ? file_->path() : ""; }

 private:
  std::string text_of(const Result& result) const;

  std::optional<ResultFile> file_;
  bool anonymous_, failing_ = false, failure_printed_ = false;
};

// The files of --also: a result in other formats, by the suffixes of their names.
class AlsoFiles {
 public:
  // Checks that they can be written. Errors: CallError for an unknown suffix, FileError.
  AlsoFiles(const std::vector<std::string>& paths, Existing existing);

  // Returns whether all are written; prints why not.
  bool write(const Result& result) const;

 private:
  std::vector<std::pair<ResultFile, const ExportFormat*>> files_;
};

}  // namespace epochbench
