// The parts of the page's data: pure functions; unknown values are null.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/analysis/compare/decision.h"
#include "src/analysis/series.h"
#include "src/base/json.h"
#include "src/report/html/html_page.h"
#include "src/report/text/text_parts.h"
#include "src/report/view.h"
#include "src/result/turns.h"

namespace epochbench {

// null if an end is not known: half an interval is not an interval.
Json page_interval(const std::optional<std::pair<double, double>>& ends);

inline constexpr const char* kNotKnown = "not known";
// The text of a finite number.
inline std::string known_text(double value, const NumberText& number) {
  return std::isfinite(value) ? number(value) : kNotKnown;
}
inline std::string day_text(const std::string& date) { return date.substr(0, 10); }
std::string moment_text(std::string date);  // "2026-01-02 03:04:05 UTC"
// "14c0ffee0014, with changes not committed".
std::string page_commit(const std::optional<std::string>& git_sha, const std::optional<bool>& git_dirty);
std::string finding_text(Finding finding);  // "✗ regression"
Cell count_cell(std::size_t count);
// ", forward" after a model's name; "" in training.
inline std::string mode_suffix(const Workload& work) {
  return work.mode == Mode::train ? "" : std::string(", ") + name(work.mode);
}

// Each part adds its tables to data.tables, for src/report/view.h.
//
// Where it was measured: machines[], each once, as cards; files[], with the number of their machine; turns[], so far with file,
// date and machine only; content, one line.
void add_places(Json& data, const std::vector<NamedResult>& results, const std::vector<NamedTurns>& turns);

// The letter of the machine that measured a file; "" if there is only one. After add_places().
std::string machine_letter(const Json& data, const std::string& file);

// What was measured: columns[] and rows[], one row per series, in the order of `all`, with what charts draw of it.
void add_rows(Json& data, const AllSeries& all, bool several_files);

// Completes turns[]: the verdict on each two binaries that took turns, with the outcome of each pair. After add_places().
void add_interleaved(Json& data, const std::vector<NamedTurns>& turns);

// history[]: the series with two dates or more, and how many more there are.
void add_history(Json& data, const std::vector<NamedResult>& results, const std::vector<NamedTurns>& turns);

// Step by step: steps[], a run each, and losses[], the first repetition of each series; `row` is its number in rows[].
void add_steps(Json& data, const AllSeries& all, bool several_files);

// Where a step's time goes: profiles[], for each series the first run with one, and profiles_left_out.
void add_profiles(Json& data, const AllSeries& all, bool several_files);

// What the results say about claims: claims and articles, each null if it is not shown; of every claim of `claims` with a
// number, a table of its answers.
void add_claims(Json& data, const std::vector<NamedResult>& results, const ClaimCatalog& catalog, const PageOptions& options);

// Rate against size: sweeps[], one for each result, axis and kind of work that was measured at three values or more.
void add_sweeps(Json& data, const std::vector<NamedResult>& results);

}  // namespace epochbench
