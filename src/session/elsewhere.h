// What a measured model would do on devices of the catalog: `plan FILE --on`, `answers --on` and `report --on`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/analysis/predict/elsewhere.h"
#include "src/case/choices.h"
#include "src/result/turns.h"
#include "src/session/prices.h"

namespace epochbench {

struct ElsewhereRequest {
  std::vector<std::string> on;         // as for `plan --on`, but not "cpu", which the result has
  std::optional<std::int64_t> batch;   // of predictions; empty: see elsewhere()
  std::optional<Precision> precision;  // likewise; empty: the fastest of each device
  std::vector<CatalogPrice> prices = embedded_prices().prices;
};

// One answer per model that the results trained on a CPU; points into `results`. "all" is every GPU of the catalog. A GPU is
// predicted at the baseline's batch or kGpuBatch, whichever is larger, halved until it fits. Errors: CallError if there is no
// such run, and as predictions_of().
std::vector<Elsewhere> elsewhere(const std::vector<NamedResult>& results, ElsewhereRequest request);

}  // namespace epochbench
