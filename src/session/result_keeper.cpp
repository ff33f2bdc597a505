#include "src/session/result_keeper.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "src/base/errors.h"
#include "src/base/files.h"
#include "src/base/text.h"
#include "src/result/anonymous.h"
#include "src/result/result_json.h"

namespace epochbench {
namespace {

std::vector<std::string> rescue_folders() {
  std::vector<std::string> folders;
  for (const char* folder : std::initializer_list<const char*>{std::getenv("TMPDIR"), "/tmp", std::getenv("HOME"), "."})
    if (folder && *folder) folders.emplace_back(folder);
  return folders;
}

}  // namespace

std::string ResultKeeper::text_of(const Result& result) const {
  return result_to_text(anonymous_ ? anonymous(result) : result);
}

void ResultKeeper::save(const Result& result) {
  if (!file_) return;
  try {
    file_->write(text_of(result));
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
  for (const std::string& folder : rescue_folders()) try {
      const ResultFile rescued = ResultFile::with_free_name(folder + "/epochbench-rescued", ".json");
      rescued.write(text_of(result));
      print_error("could not write " + path() + "; the whole result is in " + rescued.path() + " instead, move it from there");
      return false;
    } catch (const FileError&) {
      continue;
    }
  print_error("could not write " + path() + " nor epochbench-rescued.json in " + joined(rescue_folders()) +
              ", so the whole result follows on stdout; copy it from there into a file");
  std::fputs(text_of(result).c_str(), stdout);
  return false;
}

AlsoFiles::AlsoFiles(const std::vector<std::string>& paths, Existing existing) {
  for (const std::string& path : paths) {
    const ExportFormat* format = export_format_of_suffix(path);
    if (!format)
      throw CallError("--also: '" + path +
                      "' has the suffix of no format; name FILE.csv, FILE.md or FILE.prom, or use epochbench export");
    files_.emplace_back(ResultFile(path, existing), format);
  }
}

bool AlsoFiles::write(const Result& result) const {
  bool all = true;
  for (const auto& [file, format] : files_) {
    Result kept = result;
    std::erase_if(kept.runs, [&, &form = format->whole](const Run& run) { return !form.left_out(run).empty(); });
    try {
      file.write(format->whole.text(kept));
    } catch (const std::runtime_error& error) {  // FileError, FormatError
      print_error("--also: " + std::string(error.what()));
      all = false;
    }
  }
  return all;
}

}  // namespace epochbench
