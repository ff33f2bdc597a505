// The functions of the formats, and what they share. One pair of functions per format: why it cannot represent a run (empty: it
// can), and its text. src/report/export/export.h says what holds for all of them; each .cpp names the description that it
// follows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/analysis/series.h"
#include "src/report/export/export.h"
#include "src/result/result.h"

namespace epochbench {

std::string nothing_left_out(const Run& run);             // for formats with a status
std::string csv_text(const Result& result);               // one row per run
std::string csv_raw_text(const Result& result);           // one row per step
std::string csv_raw_left_out(const Run& run);             // without steps
std::string markdown_text(const Result& result);          // a table for a pull request
std::string mllog_text(const Result& result);             // MLPerf's log lines
std::string mllog_left_out(const Run& run);               // not a training that failed or has times
std::string github_benchmark_text(const Result& result);  // what should be small: customSmallerIsBetter
std::string bmf_text(const Result& result);
std::string tracker_left_out(const Run& run);  // for both trackers: neither failed nor has a known metric
std::string openmetrics_text(const Result& result);
std::string mlflow_text(const Result& result);  // requests of runs/log-batch, one per line
std::string mlflow_left_out(const Run& run);    // never started
std::string google_benchmark_text(const Result& result);
std::string google_benchmark_left_out(const Run& run);  // neither failed nor has times

std::vector<ExportFile> mllog_folder(const Result& result, const std::string& root);             // one log per run
std::vector<ExportFile> github_benchmark_folder(const Result& result, const std::string& root);  // both directions
std::vector<ExportFile> mlflow_folder(const Result& result, const std::string& root);            // a tracking store
bool is_mllog_file(std::string_view name);  // whether mllog_folder writes it: "result_3.txt"

// For formats that identify a run by name and repetition. Errors: FormatError if two runs have the same.
void require_distinct_runs(const Result& result);

// Milliseconds since 1970 in UTC of "2026-01-02T03:04:05Z" (RFC 3339; fractions of a second and offsets too); empty for any
// other text.
std::optional<std::int64_t> milliseconds_since_1970(std::string_view rfc3339);

// 0 for what is not a duration: not finite, negative, or longer than 300 years.
std::int64_t to_milliseconds(double seconds);

// When each run began, in milliseconds since 1970: runs are placed end to end by their wall_seconds, from the result's date on.
// Runs without times take no time. Errors: FormatError if the date is invalid.
std::vector<std::int64_t> run_starts(const Result& result);

// One line of visible characters; a longer text is cut and ends with "...".
std::string one_line_of(const std::string& text, std::size_t longest_bytes);

// The figures that tools which track benchmarks get: a selection, since csv and the result file hold everything.
std::vector<const Figure*> exported_figures();

// Runs as MLflow stores them, for requests and for a folder (both in export_mlflow.cpp): parameters and tags, which are texts,
// and metrics, which are numbers with a time and a step.
struct MlflowMetric {
  std::string key;
  double value = 0;  // finite
  std::int64_t milliseconds = 0, step = 0;
};

struct MlflowRun {
  std::string id, name;  // id: 32 hexadecimal digits, the same whenever it is exported
  RunStatus status = RunStatus::ok;
  std::int64_t start_milliseconds = 0;           // since 1970
  std::optional<std::int64_t> end_milliseconds;  // empty: not known
  std::vector<std::pair<std::string, std::string>> params, tags;
  std::vector<MlflowMetric> metrics;
};

// Metrics are exported_figures(), and by step `loss` (from 0, warm-up first), `step_seconds` (likewise) and
// `eval_history` (by epoch, from 1). Times within a run are the sum of its timed steps so far. Errors: FormatError if the date
// is invalid or if two runs have the same name and repetition.
std::vector<MlflowRun> mlflow_runs(const Result& result);

}  // namespace epochbench
