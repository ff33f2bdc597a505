// What the page of `epochbench report` shows, as one JSON document: measurements, and what src/analysis says of them, laid out
// for drawing. Nothing is drawn or judged here: the page's own JavaScript draws, and src/analysis judges.
#pragma once

#include <vector>

#include "src/analysis/claims/claim_catalog.h"
#include "src/base/json.h"
#include "src/result/named_result.h"

namespace epochbench {

// machines[], files[], columns[], rows[], left_out[], speedup, sweeps[], turns[], history[], steps[], losses[], profiles[],
// claims; a part that the measurements do not cover is empty or null. At most some 15 MB of 10,000 runs: long series are
// downsampled (`every`).
Json page_data(const std::vector<NamedResult>& results, const std::vector<NamedTurns>& turns, const ClaimCatalog& catalog);

}  // namespace epochbench
