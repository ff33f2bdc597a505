// One pair of functions a format: why it has no place for a run (empty: it has), and its text. src/report/export/export.h says
// what holds of all of them; each .cpp names the description that it follows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/report/export/export_folder.h"
#include "src/result/result.h"

namespace epochbench {

std::string nothing_left_out(const Run& run);             // of formats that have a status
std::string without_measured_figures(const Run& run);     // not ok, or nothing of it is known
std::string csv_text(const Result& result);               // one row per run
std::string csv_raw_text(const Result& result);           // one row per step
std::string csv_raw_left_out(const Run& run);             // without steps
std::string markdown_text(const Result& result);          // a table for a pull request
std::string mllog_text(const Result& result);             // MLPerf's log lines
std::string mllog_left_out(const Run& run);               // no training that has times
std::string github_benchmark_text(const Result& result);  // what should be small: customSmallerIsBetter
std::string bmf_text(const Result& result);
std::string openmetrics_text(const Result& result);
std::string mlflow_text(const Result& result);  // requests of runs/log-batch, one a line
std::string mlflow_left_out(const Run& run);    // never started
std::string google_benchmark_text(const Result& result);
std::string google_benchmark_left_out(const Run& run);  // without times

std::vector<ExportFile> mllog_folder(const Result& result, const std::string& root);             // one log per run
std::vector<ExportFile> github_benchmark_folder(const Result& result, const std::string& root);  // both directions
std::vector<ExportFile> mlflow_folder(const Result& result, const std::string& root);            // a tracking store
bool is_mllog_file(std::string_view name);  // of mllog_folder: "result_3.txt"

// Formats in which a run is its name and repetition. Errors: FormatError where two runs have the same.
void require_distinct_runs(const Result& result);

// In one line of printable characters: control characters become blanks, and what is longer ends with "...".
std::string one_line_of(const std::string& text, std::size_t longest_bytes);

}  // namespace epochbench
