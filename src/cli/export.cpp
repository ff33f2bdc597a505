// epochbench export: a result in the format of another tool, on stdout, in a file or in a folder.
#include "src/report/export/export.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>
#include <vector>

#include "src/base/errors.h"
#include "src/base/files.h"
#include "src/cli/commands.h"
#include "src/cli/result_arguments.h"
#include "src/result/result_json.h"

namespace epochbench {
namespace {

namespace fs = std::filesystem;

const ExportFormat& format_named(const std::string& name) {
  if (const ExportFormat* format = find_export_format(name)) return *format;
  std::string names;
  for (const ExportFormat& format : export_formats()) names += (names.empty() ? "" : ", ") + std::string(format.name);
  throw CallError("--format: unknown format '" + name + "'; choose from " + names);
}

const ExportForm& form_of(const ExportFormat& format, bool raw) {
  if (!raw) return format.whole;
  if (format.raw.text) return format.raw;
  throw CallError("--raw: " + std::string(format.name) + " has no rows of steps; leave it out, or use --format csv");
}

bool names_folder(const ExportFormat& format, const std::string& path) {
  if (!format.folder || path.empty()) return false;
  std::error_code unknown;
  const std::string extension = fs::path(path).extension().string();
  return path.back() == '/' || fs::is_directory(path, unknown) ||
         (format.folder_first && extension != ".json" && extension != ".jsonl");
}

// Takes the runs that the form has no place for out of the result, and says on stderr which and why.
void leave_out(const ExportFormat& format, const ExportForm& form, const std::string& path, Result& result) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  std::vector<Run> kept;
  for (Run& run : result.runs) {
    const std::string reason = form.left_out(run);
    if (reason.empty()) {
      kept.push_back(std::move(run));
      continue;
    }
    auto known = std::find_if(reasons.begin(), reasons.end(), [&](const auto& each) { return each.first == reason; });
    if (known == reasons.end()) known = reasons.insert(known, {reason, {}});
    known->second.push_back(run.name);
  }
  if (kept.empty() && !reasons.empty())
    throw CallError(path + ": " + format.name + " has no place for any of its runs: " + reasons.front().second.front() + ": " +
                    reasons.front().first + "; --format csv has all of them, with status and message");
  result.runs = std::move(kept);
  for (const auto& [reason, names] : reasons) {
    const std::string more = names.size() > 1 ? " and " + std::to_string(names.size() - 1) + " more" : "";
    print_error("left out of " + std::string(format.name) + ": " + names.front() + more + ": " + reason);
  }
}

void write(const ExportFormat& format, const ExportForm& form, const Result& result, const std::string& out) {
  if (names_folder(format, out)) {
    const std::string root = fs::absolute(out).lexically_normal().string();
    const auto files = format.folder(result, root.back() == '/' ? root.substr(0, root.size() - 1) : root);
    if (format.of_the_set) refuse_others_of_the_set(out, files, format.of_the_set);
    write_export_folder(out, files);
    return;
  }
  const std::string text = form.text(result);
  if (out.empty())
    std::fwrite(text.data(), 1, text.size(), stdout);
  else
    ResultFile(out).write(text);
}

}  // namespace

std::string export_formats_help() {
  std::size_t widest = 0;
  for (const ExportFormat& format : export_formats()) widest = std::max(widest, std::string_view(format.name).size());
  std::string text;
  for (const ExportFormat& format : export_formats()) {
    std::string name = format.name;
    name.resize(widest, ' ');
    text += "  " + name + "  " + format.about + "\n";
  }
  return text;
}

int export_command(const ExportOptions& options) {
  const ExportFormat& format = format_named(options.format);
  const ExportForm& form = form_of(format, options.raw);
  if (!options.out.empty()) refuse_to_replace(options.out, options.result);
  Result result = read_result(options.result);
  leave_out(format, form, options.result, result);
  try {
    write(format, form, result, options.out);
  } catch (const FormatError& error) {
    throw CallError(options.result + ": " + error.what());
  }
  return kExitDone;
}

}  // namespace epochbench
