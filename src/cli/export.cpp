// epochbench export: a result in the format of another tool, on stdout, in a file or in a folder.
#include "src/report/export/export.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "src/base/files.h"
#include "src/base/text.h"
#include "src/cli/commands.h"
#include "src/cli/result_arguments.h"
#include "src/report/text/text_parts.h"
#include "src/result/price_source.h"
#include "src/session/prices.h"

namespace epochbench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExportExamples = R"(Examples:
  epochbench export result.json -o runs.csv             the suffix names the format: .csv, .md or .prom
  epochbench export cpu-box.json gpu-box.json -o both.csv    the runs of all files; equal run names get the name of the file
  epochbench export result.json --format csv --raw > steps.csv
  epochbench export result.json --format markdown >> "$GITHUB_STEP_SUMMARY"
  epochbench export result.json --format openmetrics -o /var/lib/node_exporter/epochbench.prom
  epochbench export result.json --format mlflow -o mlruns/      a tracking store that MLflow opens

Runs that the format cannot represent are listed on stderr, with the reason. Unknown values are left out, never 0.
In CSV, text that starts with = + - @, a tab or a carriage return is prefixed with ' so that spreadsheets do not run it.
Exit codes: 0 done; 2 the command line or the file is wrong, or the format cannot represent any of its runs.)";

struct ExportOptions {
  std::vector<std::string> results;  // files and folders
  std::string format;
  std::string out;  // a file or a folder; empty: stdout
  bool raw = false;
  PriceOptions prices;  // without a price, a file keeps its own costs
};

const ExportFormat& format_of(const ExportOptions& options) {
  if (options.format.empty()) {
    if (const ExportFormat* format = export_format_of_suffix(options.out)) return *format;
    throw CallError("--format is missing; choose from " + joined(export_formats(), &ExportFormat::name) +
                    ", or end --out with .csv, .md or .prom (see epochbench export --help)");
  }
  if (const ExportFormat* format = find_export_format(options.format)) return *format;
  std::vector<std::string> known;
  for (const ExportFormat& format : export_formats()) known.emplace_back(format.name);
  throw CallError("--format: unknown format '" + options.format + "'; choose from " +
                  joined(export_formats(), &ExportFormat::name) + did_you_mean(options.format, known));
}

const ExportForm& form_of(const ExportFormat& format, bool raw) {
  if (!raw) return format.whole;
  if (format.raw.text) return format.raw;
  throw CallError("--raw: " + std::string(format.name) + " has no rows of steps; leave it out, or use --format csv");
}

bool names_folder(const ExportFormat& format, const std::string& path) {
  if (!format.folder || path.empty() || path == kStandardStream) return false;
  std::error_code unknown;
  const std::string extension = fs::path(path).extension().string();
  return path.back() == '/' || fs::is_directory(path, unknown) ||
         (format.folder_first && extension != ".json" && extension != ".jsonl");
}

// Removes the runs that the form cannot hold from the result, and says on stderr which and why.
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
  print_to(out, form.text(result));
}

// Prefixes the names of runs whose name and repetition are in several files with the name of the file.
void name_files(std::vector<NamedResult>& results) {
  std::map<std::pair<std::string, int>, std::set<const NamedResult*>> files;
  for (const NamedResult& named : results)
    for (const Run& run : named.result.runs) files[{run.name, run.repetition}].insert(&named);
  for (NamedResult& named : results)
    for (Run& run : named.result.runs)
      if (files[{run.name, run.repetition}].size() > 1) run.name = fs::path(named.path).filename().string() + ": " + run.name;
}

// A row says on which machine a run was made, so the rows of all files are one list.
std::string joined_rows(const ExportForm& form, const std::vector<NamedResult>& results) {
  std::string text;
  for (const NamedResult& named : results) {
    const std::string rows = form.text(named.result);
    text += text.empty() ? rows : rows.substr(std::min(rows.find('\n'), rows.size() - 1) + 1);
  }
  return text;
}

// One table per file, since a row does not name the machine.
std::string joined_tables(const ExportForm& form, const std::vector<NamedResult>& results) {
  std::string text;
  for (const NamedResult& named : results) {
    std::string title = visible(fs::path(named.path).filename().string());
    std::ranges::replace(title, '`', '\'');
    text += (text.empty() ? "### `" : "\n### `") + title + "`\n\n" + form.text(named.result);
  }
  return text;
}

bool is_of_one_machine(const std::vector<NamedResult>& results) {
  const auto machine = [](const NamedResult& named) {
    const Context& context = named.result.context;
    std::string text = context.cpu.model + "\n" + std::to_string(context.cpu.threads_available);
    for (const GpuInfo& gpu : context.gpus) text += "\n" + gpu.name;
    return text;
  };
  return std::ranges::all_of(results, [&](const NamedResult& each) { return machine(each) == machine(results.front()); });
}

void export_all(const ExportFormat& format, const ExportForm& form, std::vector<NamedResult>& results, const std::string& out) {
  if (results.size() == 1) return write(format, form, results.front().result, out);
  const std::string name = format.name;
  if (name == "markdown") return print_to(out, joined_tables(form, results));
  name_files(results);
  if (name == "csv") return print_to(out, joined_rows(form, results));
  if (!is_of_one_machine(results))
    throw CallError(name +
                    " describes one machine, and these files are of several; export each on its own, or use csv or markdown");
  Result all = results.front().result;
  for (std::size_t i = 1; i < results.size(); ++i)
    all.runs.insert(all.runs.end(), results[i].result.runs.begin(), results[i].result.runs.end());
  write(format, form, all, out);
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
  const ExportFormat& format = format_of(options);
  const ExportForm& form = form_of(format, options.raw);
  std::vector<NamedResult> results = read_result_arguments("export", options.results);
  for (NamedResult& named : results) {
    if (!options.out.empty()) refuse_to_replace(options.out, named.path);
    if (!options.prices.price.empty()) reprice(named, options.prices);
    for (Run& run : named.result.runs)
      if (run.cost && run.cost->price_source) run.cost->price_source = labeled_share(*run.cost->price_source);
    leave_out(format, form, named.path, named.result);
  }
  try {
    export_all(format, form, results, options.out);
  } catch (const FormatError& error) {
    throw CallError(joined(results, &NamedResult::path) + ": " + error.what());
  }
  return kExitDone;
}

}  // namespace

void add_export(Commands& commands) {
  auto [command, options] = commands.add("export", "convert results to the formats of other tools",
                                         "Formats:\n" + formats_help() + "\n" + kExportExamples, export_result);
  command.add_option("result", options.results, "result files, or folders of them")->type_name("RESULT...")->required();
  command.add_option("--format", options.format, "one of the formats below (default: by the suffix of --out)")
      ->type_name("FORMAT");
  command.add_flag("--raw", options.raw, "csv: one row per step");
  command.add_option("-o,--out", options.out, "file, or folder if the format supports one (default and -: stdout)")
      ->type_name("FILE|DIR");
  add_price_options(command, options.prices);
}

}  // namespace epochbench
