// Keeps the result on disk while a suite runs, and does not lose it when the disk is full.
#pragma once

#include <string>

#include "src/base/files.h"
#include "src/result/result.h"

namespace epochbench {

class ResultKeeper {
 public:
  // Errors: FileError when `path` cannot be written.
  ResultKeeper(const std::string& path, bool anonymous) : file_(path), anonymous_(anonymous) {}

  // Writes the result. The first failure is told once; later calls try again.
  void save(const Result& result);

  // After the last save. Where the file could not be written, writes to the folder for temporary files and tells where.
  // Returns whether the result is in the file that was asked for.
  bool finish(const Result& result);

  const std::string& path() const { return file_.path(); }

 private:
  std::string text_of(const Result& result) const;

  ResultFile file_;
  bool anonymous_, failing_ = false, told_ = false;
};

}  // namespace epochbench
