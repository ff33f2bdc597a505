// A measured model beside devices that were not measured: what this file measured, what others published and what is predicted,
// each row with its class. Rows of another program compare programs as well as devices, so no verdict uses them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/analysis/predict/leader.h"
#include "src/analysis/predict/prediction.h"
#include "src/analysis/predict/published_steps.h"
#include "src/analysis/series.h"
#include "src/analysis/speedup/speedup.h"
#include "src/result/evidence.h"

namespace epochbench {

struct ElsewhereRow {
  EvidenceClass evidence = EvidenceClass::measured;
  std::string device;   // "cpu", "NVIDIA T4"
  std::string program;  // "epochbench", "PyTorch", "PyTorch, tuned"
  Precision precision = Precision::fp32;
  std::int64_t batch = 0;
  bool disturbed = false;           // its times are marked (src/result/load.h)
  RangedFigure rate = {};           // samples per second
  RangedFigure ratio = {};          // of rates, over the first row's
  RangedFigure epoch_seconds = {};  // of as many samples as the first row's epoch has
  RangedFigure usd_per_epoch = {};
  RangedFigure whole_usd_per_epoch = {};  // where usd_per_epoch is of a share of an instance, which is only rented whole
  std::string price = {};                 // "given with --price", "catalog: aws g4dn.xlarge ..."; empty: none is known
  std::vector<std::string> notes = {};    // what a reader must know, and why a figure is missing
  bool tuned = false;                     // the second prediction of a GPU
};

// What the predicted ratios would be in another setting.
struct ElsewhereChange {
  struct Ratio {
    std::string device;
    std::optional<double> value = {};  // empty: no rate is expected in this setting
    std::int64_t batch = 0;
  };
  std::string setting;  // "at the CPU's batch, 16", "in fp32", "in fp32, the CPU in bf16"
  std::vector<Ratio> ratios;
};

struct Elsewhere {
  const Run* baseline = nullptr;   // the first repetition of the first row
  std::vector<ElsewhereRow> rows;  // the CPU at its best first, then measured, published and predicted rows
  std::vector<ElsewhereChange> changes = {};
  std::string unusable = {};  // why the first row, and so no ratio to it, carries an answer; empty: it does
};

// The rows with the lowest cost of an epoch and with the highest rate, by their places: over what was measured, the CPU too
// unless it cannot carry an answer, and what is expected as most people run a device, unless it was measured as fast a
// precision. A GPU costs what its instance costs. Empty where fewer than two rows know it.
struct BestRows {
  std::optional<Leader> cheapest = {}, fastest = {};
};
BestRows best_rows(const Elsewhere& answer);

// What an epoch on a GPU costs: of the whole instance. On a CPU, whose cores may be more or fewer elsewhere, of its share.
const RangedFigure& epoch_cost(const ElsewhereRow& row, const Elsewhere& answer);

// The CPU at its best, for each model that the results trained on a CPU without a restriction, in `precision` if given; one
// that cannot carry an answer where no other did. Points to series of `all`.
std::vector<FastestSeries> cpu_baselines(const AllSeries& all, std::optional<Precision> precision = {});

// The rows that the result has: the baseline, and each GPU at its best with the ratio of `speedup`, whose pairs are of the same
// results.
Elsewhere measured_rows(const AllSeries& all, const FastestSeries& fastest, const Speedup& speedup);

// What others published for the device and what is predicted for it. `prices`: one prediction of one epoch of the baseline's
// samples, at each price of the device; the cheapest is taken. At least one.
void add_device(Elsewhere& answer, const PublishedSteps& published, const std::vector<Prediction>& prices);

}  // namespace epochbench
