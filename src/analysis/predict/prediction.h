// What a device of the catalog needs for a model: the minimum and the expectation. Predictions, never measurements.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/analysis/predict/expected_time.h"
#include "src/case/choices.h"

namespace epochbench {

// A model as planned for a batch. The memory is what the program plans, without scratch memory of libraries.
struct PlannedWork {
  std::string model;
  Precision precision = Precision::fp32;
  Mode mode = Mode::train;
  std::int64_t batch = 0;
  double memory_bytes = 0;
  std::vector<NodeDemand> nodes = {};                  // of a step
  std::optional<std::int64_t> tokens_per_sample = {};  // of a language model
  std::int64_t parts = 1;                              // of a batch
  Checkpoint checkpoint = Checkpoint::none;
};

// What --epochs asks for.
struct EpochsAsked {
  std::int64_t epochs = 0, samples = 0;  // per epoch, which counts as samples / batch steps, as in projections of runs
  std::string dataset = {};              // that has as many: "SQuAD"; empty: none is known
};

// What is predicted as a multiple of a step's time: the minimum, the expectation as most people run the device, its 80 %
// interval from low to high, and the expectation of tuned programs.
struct PredictedAmount {
  double at_least = 0;
  std::optional<double> expected, low, high;  // empty together: see Prediction::expected_reason
  std::optional<double> tuned = {};           // see Prediction::tuned
};

struct PredictedCost {
  std::string instance;
  std::optional<PredictedAmount> usd;
  double usd_per_hour = 0;  // of the whole instance, since a part of it cannot be rented
  int gpus = 0;             // that it has; one is used
  std::string price;        // "catalog: aws p5.48xlarge us-east-1 2026-11-09, whole price for 192 vCPUs and 8 GPUs, ..."
  std::string price_age;    // "311 days old"; empty for a recent one
};

struct Prediction {
  std::string device, name;        // the catalog's id; what the call named, in full
  PlannedWork work;                // without its nodes; of batch 1 if not even that fits
  bool fastest_precision = false;  // work.precision is the device's fastest of several, not one that a call names
  double device_memory_bytes = 0;
  bool fits = false;
  std::optional<std::int64_t> largest_batch;  // 0: not even one sample fits; empty: it was not searched
  std::optional<TimeBound> step;
  std::string reason;                    // for an empty step
  std::optional<ExpectedTime> expected;  // as most people run the device
  std::string expected_reason;           // for an empty expectation of a step that is not empty
  std::optional<ExpectedTime> tuned;     // by tuned programs, of a network of convolutions on a GPU
  std::optional<PredictedAmount> hours;  // for --epochs, like what follows
  std::optional<EpochsAsked> asked;      // as above
  std::optional<PredictedCost> cost;
  std::string cost_reason;  // for an empty cost
  std::vector<std::string> notes;
};

// Seconds; empty without a step.
std::optional<PredictedAmount> amount_of_step(const Prediction& prediction);
// Samples per second: as expected, and by the bound; empty without an expectation, or without a step.
std::optional<double> expected_rate(const Prediction& prediction);
std::optional<double> max_rate(const Prediction& prediction);
// By the expected rate, then by the bound; of two that do not fit, the one that needs less memory.
bool is_faster(const Prediction& a, const Prediction& b);

// Which sources the model predicts badly when it does not know them; "" if it predicts most steps of each.
std::string weak_sources_text(const ExpectedTime& time);

struct PredictionQuestion {
  PredictionTarget target;
  PlannedWork work;
  std::optional<std::int64_t> largest_batch;
  std::optional<EpochsAsked> epochs;
};

// One prediction; for epochs one per instance of the price list that has the device. `day` decides how old a price is.
std::vector<Prediction> predict(const DeviceCatalog& catalog, std::span<const CatalogPrice> prices,
                                const PredictionQuestion& question, Day day);

// The answer of `rent`.
struct Rentals {
  std::vector<Prediction> predictions;  // the cheapest first
  EpochsAsked asked;
  std::optional<double> max_usd;
  std::vector<Prediction> too_expensive;  // beyond max_usd, likewise
  std::vector<Prediction> bounded;        // with a lower bound of the cost alone, within max_usd, likewise
  std::vector<std::string> unfit;         // instances that the model does not fit into at its batch
  std::vector<std::string> unpriced;      // why instances have no cost, one reason each
};

// The cheapest first, then the fastest; those with neither last.
void sort_by_cost(std::vector<Prediction>& predictions);

}  // namespace epochbench
