// Series over time and the commits at which they changed, for people and as JSON. Nothing is computed here.
#pragma once

#include <string>

#include "src/analysis/compare/history.h"
#include "src/base/json.h"

namespace epochbench {

// A row a series, then its changes, each with the commit that it began at and the last one before it.
std::string history_text(const History& history);

// {"series": [{name, of, setting, points[], changes[], reason}], "left_out": [{name, file, reason}]}. A change: kind, ratio,
// before and after (in the unit of the points), p_value, and begin, end and last_before, each a point with its index.
Json history_json(const History& history);

}  // namespace epochbench
