// A plan of `epochbench plan`, and how it is shown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "epochbench/program.h"
#include "src/base/json.h"
#include "src/case/case_block.h"
#include "src/case/case_spec.h"
#include "src/session/predicting.h"
#include "src/workload/traffic.h"
#include "src/workload/workload.h"

namespace epochbench {

struct DeviceMemory {
  std::string name;
  std::int64_t bytes = 0;
  bool fits = false;
};

struct Plan {
  CaseSpec spec;
  WorkloadSpec workload;
  Counts counts;
  ProgramMemory memory;  // on the first of the devices, or on a GPU where there is none
  std::vector<DeviceMemory> devices;
  std::optional<std::int64_t> limit_bytes = {};             // of --batch max
  bool fits = true;                                         // whether batch 1 fits into it
  std::vector<OpTraffic> ops = {};                          // of a step, if requested
  std::optional<std::int64_t> kept_activations_bytes = {};  // with --checkpoint: what they would be without
  std::optional<std::int64_t> whole_optimizer_bytes = {};   // with --shard: what its state would be without
};

// Whether --batch is max, which is removed from the cases. Errors: CallError if it is not the only value.
bool takes_largest_batch(CaseBlock& cases);

// The cases on devices of the catalog. Without a batch they have kGpuBatch, halved until it fits, and without a precision each
// device takes its fastest. Errors: CallError.
PredictionRequest prediction_request(std::vector<std::string> on, CaseBlock cases, std::optional<std::int64_t> epochs,
                                     std::optional<std::int64_t> tokens);

std::string plan_text(const Plan& plan);
// One row per plan, with what is free on each device.
std::string plans_text(const std::vector<Plan>& plans);
Json plan_json(const Plan& plan);

}  // namespace epochbench
