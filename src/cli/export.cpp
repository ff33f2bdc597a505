// epochbench export: a result in the format of another tool, on stdout, in a file or in a folder.
#include "src/report/export/export.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "src/base/files.h"
#include "src/base/text.h"
#include "src/cli/commands.h"
#include "src/cli/result_arguments.h"
#include "src/report/text/text_parts.h"
#include "src/result/result_json.h"
#include "src/session/prices.h"

namespace epochbench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExportExamples = R"(Examples:
  epochbench export result.json --format csv -o runs.csv
  epochbench export result.json --format csv --raw > steps.csv
  epochbench export result.json --format markdown >> "$GITHUB_STEP_SUMMARY"
  epochbench export result.json --format openmetrics -o /var/lib/node_exporter/epochbench.prom
  epochbench export result.json --format mlflow -o mlruns/      a tracking store that MLflow opens

Runs that a format has no place for are named on stderr, with the reason. Unknown values are left out, never 0.
In csv a text that begins with = + - @, a tab or a carriage return gets a leading ', since a spreadsheet would run it.
Exit codes: 0 done; 2 the call or the file is wrong, or the format has no place for any of its runs.)";

struct ExportOptions {
  std::string result, format;
  std::string out;  // a file or a folder; empty: stdout
  bool raw = false;
  PriceOptions prices;  // a file is exported with the costs that it has where no price is given
};

const ExportFormat& format_named(const std::string& name) {
  if (const ExportFormat* format = find_export_format(name)) return *format;
  std::vector<std::string> known;
  for (const ExportFormat& format : export_formats()) known.emplace_back(format.name);
  throw CallError("--format: unknown format '" + name + "'; choose from " + joined(export_formats(), &ExportFormat::name) +
                  did_you_mean(name, known));
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
  Reasons reasons;
  std::erase_if(result.runs, [&](const Run& run) {
    const std::string reason = form.left_out(run);
    if (!reason.empty()) add_reason(reasons, reason, run.name);
    return !reason.empty();
  });
  if (result.runs.empty() && !reasons.empty())
    throw CallError(path + ": " + format.name +
                    " has no place for any of its runs: " + reasons.list().front().subjects.front() + ": " +
                    reasons.list().front().text + "; --format csv has all of them, with status and message");
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
    print(text);
  else
    ResultFile(out).write(text);
}

std::string formats_help() {  // one line per format
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

int export_result(const ExportOptions& options) {
  const ExportFormat& format = format_named(options.format);
  const ExportForm& form = form_of(format, options.raw);
  if (!options.out.empty()) refuse_to_replace(options.out, options.result);
  NamedResult named{options.result, read_result(options.result)};
  if (!options.prices.price.empty()) reprice(named, options.prices);
  Result& result = named.result;
  leave_out(format, form, options.result, result);
  try {
    write(format, form, result, options.out);
  } catch (const FormatError& error) {
    throw CallError(options.result + ": " + error.what());
  }
  return kExitDone;
}

}  // namespace

void add_export(Commands& commands) {
  auto [command, options] = commands.add("export", "convert a result to the formats of other tools",
                                         "Formats:\n" + formats_help() + "\n" + kExportExamples, export_result);
  command.add_option("result", options.result, "result file")->type_name("RESULT")->required();
  command.add_option("--format", options.format, "one of the formats below")->type_name("FORMAT")->required();
  command.add_flag("--raw", options.raw, "csv: one row per step");
  command.add_option("-o,--out", options.out, "file, or folder if the format supports one (default: stdout)")
      ->type_name("FILE|DIR");
  add_price_options(command, options.prices);
}

}  // namespace epochbench
