// The parts of the page's data that page_rows.cpp and page_series.cpp make: pure functions; unknown values are null.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "src/analysis/series.h"
#include "src/base/json.h"

namespace epochbench {

// null if an end is not known: half an interval is not an interval.
Json page_interval(const std::optional<std::pair<double, double>>& ends);

// What was measured: columns[] and rows[], one row per series, in the order of `all`; left_out[], runs without a row, by
// reason.
void add_rows(Json& data, const AllSeries& all);

// Step by step: steps[], a run each, and losses[], the first repetition of each series; `row` is its number in rows[].
void add_steps(Json& data, const AllSeries& all);

// Where a step's time goes: profiles[], for each series the first run with one, and profiles_left_out.
void add_profiles(Json& data, const AllSeries& all);

// Rate against size: sweeps[], one for each result, axis and kind of work that was measured at three values or more.
void add_sweeps(Json& data, const std::vector<NamedResult>& results);

}  // namespace epochbench
