// The parts of the page's data, one a file page_*.cpp. All of them are pure functions; numbers have six significant digits,
// more than a pixel or an eye distinguishes (the result file has them all), and unknown values are null.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/analysis/estimate.h"
#include "src/analysis/series.h"
#include "src/base/json.h"

namespace epochbench {

Json page_number(double value);
Json page_number(const std::optional<double>& value);
Json page_interval(const std::optional<std::pair<double, double>>& ends);

// Where it was measured: machines[], each once; files[], the results, each with the number of its machine; and turns[], begun
// with file, date and machine.
void add_places(Json& data, const std::vector<NamedResult>& results, const std::vector<NamedTurns>& turns);

// What was measured: columns[] and rows[], a row a series, in the order of `all`; left_out[], what is in no row, and why.
void add_rows(Json& data, const AllSeries& all);

// Step by step: steps[], a run each, and losses[], the first repetition of each series; `row` is its number in rows[].
void add_steps(Json& data, const AllSeries& all);

// Where a step's time goes: profiles[], of each series the first run that has one, and how many profiles_left_out.
void add_profiles(Json& data, const AllSeries& all);

// What came of two binaries taking turns: into each of turns[], in their order, the verdict, and each case with its pairs.
void add_turns(Json& data, const std::vector<NamedTurns>& turns);

// Over time: history[], a workload on one machine each that several dated files have, with the changes of its level; and how
// many are history_left_out.
void add_history(Json& data, const std::vector<NamedResult>& results, const std::vector<NamedTurns>& turns);

// Rate against size: sweeps[], one for each result, axis and kind of work that was measured at three values or more.
void add_sweeps(Json& data, const std::vector<NamedResult>& results);

}  // namespace epochbench
