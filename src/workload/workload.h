// From a case's description to a program: model, optimizer, passes, initial weights. The one place that knows the order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "epochbench/backend.h"
#include "epochbench/dataset.h"
#include "epochbench/model.h"
#include "epochbench/program.h"
#include "epochbench/result.h"
#include "src/measure/case.h"

namespace epochbench {

// What is known of a case before anything runs. samples_per_epoch needs the data set, whose errors it throws:
// DataError for data, std::invalid_argument for the model.
Workload describe_workload(const CaseSpec& spec);

struct Counts {
  std::int64_t parameters = 0;
  double forward_flops_per_sample = 0, train_flops_per_sample = 0;
  std::string fingerprint, optimizer;
};
Counts count(const Model& model, const ModelConfig& config, const OptimizerSpec& optimizer);

// All entries through all passes, for this backend.
// Errors: GraphError; std::invalid_argument with the reason for a node that the backend cannot run.
Program make_program(const Model& model, const ModelConfig& config, const OptimizerSpec& optimizer, const Backend& backend);

// Initial weights and learning rate, the same for every backend: one Philox stream a parameter name.
void initialize(Executable& executable, const Program& program, const OptimizerSpec& optimizer, std::uint64_t seed);

std::unique_ptr<Backend> make_backend(const std::string& device, int threads);  // DeviceError with the reason

PreparedCase prepare_case(const CaseSpec& spec);

}  // namespace epochbench
