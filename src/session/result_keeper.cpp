#include "src/session/result_keeper.h"

#include <cstdlib>
#include <utility>

#include "src/base/errors.h"
#include "src/base/files.h"
#include "src/result/anonymous.h"
#include "src/result/result_json.h"

namespace epochbench {

std::string ResultKeeper::text_of(const Result& result) const {
  return result_to_text(anonymous_ ? anonymous(result) : result);
}

void ResultKeeper::save(const Result& result) {
  try {
    file_.write(text_of(result));
    failing_ = false;
  } catch (const FileError& error) {
    failing_ = true;
    if (!std::exchange(failure_printed_, true))
      print_error(std::string(error.what()) + " (the run goes on and tries again after every case)");
  }
}

bool ResultKeeper::finish(const Result& result) {
  if (!failing_) return true;
  save(result);
  if (!failing_) return true;
  const char* folder = std::getenv("TMPDIR");
  const std::string other = std::string(folder && *folder ? folder : "/tmp") + "/epochbench-rescued";
  try {
    const ResultFile rescued = ResultFile::with_free_name(other, ".json");
    rescued.write(text_of(result));
    print_error("could not write " + path() + "; the whole result is in " + rescued.path() + " instead, move it from there");
  } catch (const FileError& error) {
    print_error("could not write " + path() + " nor " + other +
                ".json, so the last results are lost; make room and run with --resume");
  }
  return false;
}

}  // namespace epochbench
