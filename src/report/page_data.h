// What the page of `epochbench report` shows, as one JSON document: measurements, and what src/analysis says of them, laid out
// for drawing. Nothing is drawn here, and nothing is judged: that is the page's own JavaScript and src/analysis.
#pragma once

#include <vector>

#include "src/analysis/named_result.h"
#include "src/report/claim_catalogue.h"
#include "src/report/json_text.h"

namespace epochbench {

// machines[], files[], columns[], rows[], left_out[], speedup, sweeps[], turns[], history[], steps[], losses[], profiles[],
// claims; a part of which the measurements say nothing is empty, or null. At most some 15 MB of 10,000 runs: long series are
// thinned (`every`).
Json page_data(const std::vector<NamedResult>& results, const std::vector<NamedTurns>& turns, const ClaimCatalogue& catalogue);

}  // namespace epochbench
