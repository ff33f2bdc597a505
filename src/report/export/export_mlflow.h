// Runs as MLflow has them: parameters and tags, which are texts, and metrics, which are numbers with a time and a step. What
// both ways into MLflow are made of: requests (export_mlflow.cpp) and a folder (export_mlflow_store.cpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/result/result.h"

namespace epochbench {

struct MlflowMetric {
  std::string key;
  double value = 0;  // finite
  std::int64_t milliseconds = 0, step = 0;
};

struct MlflowRun {
  std::string id, name;  // id: 32 hexadecimal digits, the same whenever it is exported
  bool finished = true;  // otherwise it failed, ran out of memory, diverged …
  bool interrupted = false;
  std::int64_t start_milliseconds = 0;           // since 1970
  std::optional<std::int64_t> end_milliseconds;  // empty: not known
  std::vector<std::pair<std::string, std::string>> params, tags;
  std::vector<MlflowMetric> metrics;
};

// Metrics are those of export_metrics(), and by step `loss` (from 0, warm-up first), `step_seconds` (likewise) and
// `eval_history` (by epoch, from 1). Moments within a run lie at the sum of its timed steps so far.
// Errors: FormatError where the date is none, and where two runs have one name and repetition.
std::vector<MlflowRun> mlflow_runs(const Result& result);

}  // namespace epochbench
