// The list of formats, and what several of them share: times and folders among others.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <regex>
#include <set>
#include <system_error>
#include <utility>

#include "src/base/clock.h"
#include "src/base/files.h"
#include "src/base/text.h"
#include "src/report/export/export_formats.h"

namespace epochbench {
namespace {

constexpr ExportFormat kFormats[] = {
    {"csv",
     "for a spreadsheet or a data frame: one row per run, one column per scalar of the result; --raw: one row per step",
     {nothing_left_out, csv_text},
     {csv_raw_left_out, csv_raw_text}},
    {"markdown",
     "for a pull request: a table, one row per case, of geometric means of repetitions",
     {nothing_left_out, markdown_text}},
    {"mllog",
     "MLPerf's :::MLLOG lines, one namespace per run; in a folder, one log per run",
     {mllog_left_out, mllog_text},
     {},
     mllog_folder,
     is_mllog_file},
    {"github-benchmark",
     "github-action-benchmark's customSmallerIsBetter, geometric means; in a folder, customBiggerIsBetter too",
     {tracker_left_out, github_benchmark_text},
     {},
     github_benchmark_folder},
    {"google-benchmark",
     "for Google Benchmark's compare.py: one entry per repetition, mean step times; no separate CPU time",
     {google_benchmark_left_out, google_benchmark_text}},
    {"bmf", "Bencher Metric Format: geometric means of repetitions, interval or range", {tracker_left_out, bmf_text}},
    {"openmetrics",
     "for Prometheus and node_exporter: gauges with the labels run and repetition, and a state for every run",
     {nothing_left_out, openmetrics_text}},
    {"mlflow",
     "requests of MLflow's runs/log-batch, one per line; in a folder, a tracking store with one run per repetition",
     {mlflow_left_out, mlflow_text},
     {},
     mlflow_folder,
     nullptr,
     true},
};

constexpr double kLongestSeconds = 1e10;

namespace fs = std::filesystem;

FileError failure(const fs::path& path, const std::string& why) {
  return FileError("cannot write " + path.string() + ": " + why + "; choose another place with --out");
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw failure(path, error.message());
}

}  // namespace

std::span<const ExportFormat> export_formats() { return kFormats; }

const ExportFormat* find_export_format(std::string_view name) {
  const auto found = std::ranges::find(kFormats, name, &ExportFormat::name);
  return found == std::end(kFormats) ? nullptr : found;
}

const ExportFormat* export_format_of_suffix(const std::string& path) {
  constexpr std::pair<const char*, const char*> kSuffixes[] = {
      {".csv", "csv"}, {".md", "markdown"}, {".markdown", "markdown"}, {".prom", "openmetrics"}};
  const std::string extension = fs::path(path).extension().string();
  for (const auto& [suffix, format] : kSuffixes)
    if (extension == suffix) return find_export_format(format);
  return nullptr;
}

std::string nothing_left_out(const Run&) { return ""; }

void require_distinct_runs(const Result& result) {
  std::set<std::pair<std::string, int>> seen;
  for (const Run& run : result.runs)
    if (!seen.emplace(run.name, run.repetition).second)
      throw FormatError("two runs are named '" + run.name.substr(0, 100) + "' with repetition " +
                        std::to_string(run.repetition) + ", which this format cannot distinguish; remove one of them");
}

std::vector<const Figure*> exported_figures() {
  std::vector<const Figure*> exported;
  for (const Figure& figure : kFigures)
    if (figure.metric) exported.push_back(&figure);
  return exported;
}

std::string one_line_of(const std::string& text, std::size_t longest_bytes) {
  std::string line = text;
  if (line.size() > longest_bytes) {
    std::size_t end = longest_bytes;
    while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;  // not within a code point
    line = line.substr(0, end) + "...";
  }
  return visible(line);
}

std::optional<std::int64_t> milliseconds_since_1970(std::string_view rfc3339) {
  static const std::regex kForm(R"((.{10})[Tt ](\d\d):(\d\d):(\d\d)(\.\d{1,30})?([Zz]|([+-])(\d\d):(\d\d)))");
  std::match_results<std::string_view::const_iterator> part;
  if (!std::regex_match(rfc3339.begin(), rfc3339.end(), part, kForm)) return std::nullopt;
  const auto number = [&](std::size_t i) { return part[i].matched ? std::stoi(part[i]) : 0; };
  const auto day = parse_day(rfc3339.substr(0, 10));
  const int hours = number(2), minutes = number(3), seconds = number(4), east_hours = number(8), east_minutes = number(9);
  if (!day || hours > 23 || minutes > 59 || seconds > 60 || east_hours > 23 || east_minutes > 59)  // second 60: a leap second
    return std::nullopt;
  const int east = (east_hours * 60 + east_minutes) * (part[7] == "-" ? -1 : 1);
  const int milliseconds = part[5].matched ? std::stoi((part[5].str() + "00").substr(1, 3)) : 0;
  const std::chrono::sys_time<std::chrono::milliseconds> moment =
      *day + std::chrono::hours(hours) + std::chrono::minutes(minutes - east) + std::chrono::seconds(seconds) +
      std::chrono::milliseconds(milliseconds);
  return moment.time_since_epoch().count();
}

std::int64_t to_milliseconds(double seconds) {
  return seconds >= 0 && seconds <= kLongestSeconds ? std::llround(seconds * 1000) : 0;
}

std::vector<std::int64_t> run_starts(const Result& result) {
  const auto date = milliseconds_since_1970(result.context.date);
  if (!date)
    throw FormatError("context.date: '" + result.context.date.substr(0, 40) +
                      "' is not a date of RFC 3339, and this format dates its events; write it as 2026-01-02T03:04:05Z");
  std::vector<std::int64_t> starts;
  std::int64_t next = *date;
  for (const Run& run : result.runs) {
    starts.push_back(next);
    if (run.timing) next += to_milliseconds(run.timing->wall_seconds);
  }
  return starts;
}

void refuse_others_of_the_set(const std::string& root, const std::vector<ExportFile>& files,
                              bool (*of_the_set)(std::string_view file_name)) {
  std::error_code none;  // on an error the file is not a folder
  for (const fs::directory_entry& entry : fs::directory_iterator(root, none)) {
    const std::string name = entry.path().filename().string();
    const auto is_it = [&](const ExportFile& file) { return file.path == name; };
    if (of_the_set(name) && std::none_of(files.begin(), files.end(), is_it))
      throw FileError(entry.path().string() + " is of another export, and would be read as one of this: remove it, or " +
                      "choose another folder with --out");
  }
}

void write_export_folder(const std::string& root, const std::vector<ExportFile>& files) {
  make_folder(root);
  for (const ExportFile& file : files) {
    const fs::path path = fs::path(root) / file.path;
    std::error_code unknown;
    if (file.keep && fs::exists(path, unknown)) continue;
    make_folder(path.parent_path());  // of "a/b/" this is "a/b"
    if (file.path.back() == '/') continue;
    write_text_file(path.string(), file.text, Sync::none);
  }
}

}  // namespace epochbench
