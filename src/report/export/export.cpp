#include "src/report/export/export.h"

#include <algorithm>
#include <set>
#include <utility>

#include "src/base/json.h"
#include "src/report/export/export_formats.h"
#include "src/report/export/export_metrics.h"

namespace epochbench {
namespace {

constexpr ExportFormat kFormats[] = {
    {"csv",
     "for a spreadsheet or a data frame: one row per run, one column per scalar of the result; --raw: one row per step",
     {nothing_left_out, csv_text},
     {csv_raw_left_out, csv_raw_text}},
    {"markdown",
     "for a pull request: a table with a row a name, of the medians of its repetitions",
     {nothing_left_out, markdown_text}},
    {"mllog",
     "MLPerf's :::MLLOG lines, one namespace per run; in a folder, one log per run",
     {mllog_left_out, mllog_text},
     {},
     mllog_folder,
     is_mllog_file},
    {"github-benchmark",
     "github-action-benchmark's customSmallerIsBetter, medians of repetitions; in a folder, customBiggerIsBetter too",
     {without_measured_figures, github_benchmark_text},
     {},
     github_benchmark_folder},
    {"google-benchmark",
     "for Google Benchmark's compare.py: repetitions apart, mean step times, CPU time is not separate",
     {google_benchmark_left_out, google_benchmark_text}},
    {"bmf",
     "Bencher Metric Format: medians of repetitions, with their lowest and highest",
     {without_measured_figures, bmf_text}},
    {"openmetrics",
     "for Prometheus and node_exporter: gauges with the labels run and repetition, and a state for every run",
     {nothing_left_out, openmetrics_text}},
    {"mlflow",
     "requests of MLflow's runs/log-batch, one a line; in a folder, a tracking store with a run a repetition",
     {mlflow_left_out, mlflow_text},
     {},
     mlflow_folder,
     nullptr,
     true},
};

// Each byte of a control character, a line separator or a code point that is not a character (U+FFFE, U+FFFF) as a blank.
std::string printable(std::string utf8) {
  const auto byte = [&](std::size_t i) { return i < utf8.size() ? static_cast<unsigned char>(utf8[i]) : 0; };
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const unsigned first = byte(i), second = byte(i + 1), third = byte(i + 2);
    std::size_t bytes = 0;
    if (first < 0x20 || first == 0x7F) bytes = 1;
    if (first == 0xC2 && second >= 0x80 && second < 0xA0) bytes = 2;                     // U+0080 to U+009F
    if (first == 0xE2 && second == 0x80 && (third == 0xA8 || third == 0xA9)) bytes = 3;  // U+2028, U+2029
    if (first == 0xEF && second == 0xBF && third >= 0xBE) bytes = 3;
    utf8.replace(i, bytes, bytes, ' ');
  }
  return utf8;
}

}  // namespace

std::span<const ExportFormat> export_formats() { return kFormats; }

const ExportFormat* find_export_format(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kFormats), std::end(kFormats), [&](const ExportFormat& format) { return format.name == name; });
  return found == std::end(kFormats) ? nullptr : found;
}

std::string nothing_left_out(const Run&) { return ""; }

std::string without_measured_figures(const Run& run) {
  if (run.status != RunStatus::ok) return name(run.status);
  return has_metric(run) ? "" : "ok, but nothing of it is known";
}

void require_distinct_runs(const Result& result) {
  std::set<std::pair<std::string, int>> seen;
  for (const Run& run : result.runs)
    if (!seen.emplace(run.name, run.repetition).second)
      throw FormatError("two runs are named '" + run.name.substr(0, 100) + "' with repetition " +
                        std::to_string(run.repetition) + ", which this format cannot distinguish; remove one of them");
}

std::string one_line_of(const std::string& text, std::size_t longest_bytes) {
  std::string line = text;
  if (line.size() > longest_bytes) {
    std::size_t end = longest_bytes;
    while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;  // not within a code point
    line = line.substr(0, end) + "...";
  }
  return printable(line);
}

}  // namespace epochbench
