// Cases on devices of the catalog, planned and predicted without running anything.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/analysis/predict/prediction.h"
#include "src/case/case_spec.h"

namespace epochbench {

// The largest batch up to kMaxBatch that fits; 0: none does. A batch fits where a larger one does.
std::int64_t largest_batch(const std::function<bool(std::int64_t)>& fits);

struct PredictionRequest {
  std::vector<std::string> on;  // as the call names them
  std::vector<CaseSpec> cases;
  bool largest_batch = false;          // instead of the cases' own
  std::optional<std::int64_t> epochs;  // then hours and costs are predicted too
};

// Each case on each device, in their order; with epochs the cheapest first. Errors: CallError, also where none of the devices
// has a precision.
std::vector<Prediction> predictions_of(const PredictionRequest& request);

}  // namespace epochbench
