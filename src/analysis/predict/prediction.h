// What a device of the catalog needs for a model at the least: predictions, never measurements, and bounds, never expectations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/analysis/predict/roofline.h"

namespace epochbench {

// A model as planned for a batch. The memory is what the program plans without scratch of libraries.
struct PlannedWork {
  std::string model;
  Precision precision = Precision::fp32;
  std::string mode;
  std::int64_t batch = 0;
  double memory_bytes = 0;
  std::vector<NodeDemand> nodes = {};  // of a step
};

// What --epochs asks for.
struct EpochsAsked {
  std::int64_t epochs = 0, samples = 0;  // per epoch, which counts as samples / batch steps, as in projections of runs
};

struct PredictedCost {
  std::string instance;
  std::optional<double> usd;
  double usd_per_hour = 0;  // of the share that is used
  std::string price;        // "catalog: aws p5.48xlarge us-east-1 2026-11-09, price for 8 GPUs, 1 used"
};

struct Prediction {
  std::string device, name;  // the catalog's id; what the call named, in full
  PlannedWork work;          // without its nodes; of batch 1 where not even that fits
  double device_memory_bytes = 0;
  bool fits = false;
  std::int64_t largest_batch = 0;  // 0: not even one sample fits
  std::optional<LeastTime> step;
  std::string reason;           // for an empty step
  std::optional<double> hours;  // of --epochs, as what follows
  std::optional<PredictedCost> cost;
  std::string cost_reason;  // for an empty cost
  std::vector<std::string> notes;
};

struct PredictionQuestion {
  PredictionTarget target;
  PlannedWork work;
  std::int64_t largest_batch = 0;
  std::optional<EpochsAsked> epochs;
};

// One; of epochs one per instance of the price list that has the device. `day` decides how old a price is.
std::vector<Prediction> predict(const DeviceCatalog& catalog, std::span<const CatalogPrice> prices,
                                const PredictionQuestion& question, Day day);

// The cheapest first, then the fastest; what has neither at the end.
void sort_by_cost(std::vector<Prediction>& predictions);

}  // namespace epochbench
