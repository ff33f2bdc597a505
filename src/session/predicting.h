// Cases on devices of the catalog, planned and predicted without running anything.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/analysis/predict/prediction.h"
#include "src/case/case_spec.h"
#include "src/session/prices.h"

namespace epochbench {

// The largest batch up to kMaxBatch that fits; 0: none does. A batch is assumed to fit if a larger one does.
std::int64_t largest_batch(const std::function<bool(std::int64_t)>& fits);

inline constexpr std::int64_t kMaxEpochs = 1'000'000'000, kMaxSamples = 1'000'000'000'000;

struct PredictionRequest {
  std::vector<std::string> on;  // as the call names them; "all": every GPU and instance of the catalog; "cpu": this machine's
  std::vector<CaseSpec> cases;
  bool largest_batch = false;              // instead of the cases' own
  std::optional<std::int64_t> epochs;      // then hours and costs are predicted too
  std::optional<std::int64_t> tokens;      // instead of epochs: one epoch of this many tokens, for a language model
  bool search_largest = true;              // the largest batch of each device, which takes most of the time
  bool halve_batch = false;                // where it does not fit, until it does
  std::vector<Precision> fastest_of = {};  // each device takes the fastest of these; empty: the cases' own precisions
  std::vector<CatalogPrice> prices = embedded_prices().prices;
};

// What GPUs are usually measured with: the batch of predictions where the call gives none, halved until it fits.
inline constexpr std::int64_t kGpuBatch = 256;

// Those that at least one of the devices has; all if `on` is empty, or a device is unknown.
std::vector<Precision> precisions_on(const std::vector<std::string>& on);

// Each case on each device, in their order; for "all", the smallest memory first; with epochs or tokens, the cheapest first.
// Errors: CallError, also if none of the devices has a precision, or any of `fastest_of`.
std::vector<Prediction> predictions_of(const PredictionRequest& request);

// Each device for one case, which is planned once; null if the device lacks the case's precision. Errors: CallError.
std::vector<std::optional<Prediction>> predictions_on(const std::vector<std::string>& devices, const CaseSpec& spec);

// The price of an instance in the price list or the catalog of devices; null: unknown. Errors: CallError.
const CatalogPrice* instance_price(const std::string& device);

struct RentalQuestion {
  PredictionRequest request;      // `on` empty: every row of its prices
  std::optional<double> max_usd;  // of the expected cost
};

// What training costs on instances that can be rented, cheapest first. Those that do not fit, have no price or are too
// expensive are left out and counted. Errors: as predictions_of().
Rentals rentals_of(const RentalQuestion& question);

// "10e9", "10000000000". Errors: CallError.
std::int64_t parse_tokens(const std::string& text);

}  // namespace epochbench
