#include "src/session/claim_plans.h"

#include <memory>

#include "epochbench/backend.h"
#include "epochbench/precision.h"
#include "src/base/errors.h"
#include "src/base/lookup.h"
#include "src/workload/workload.h"

namespace epochbench {
namespace {

// Of a GPU, or of the CPU in a build without CUDA; the answers say which.
struct Planner {
  std::unique_ptr<Backend> backend;
  std::string device;
};

Planner make_planner() {
  constexpr int kThreads = 1;  // so that every machine plans the same
  try {
    return {make_cuda_planner(), "a GPU"};
  } catch (const DeviceError&) {
    return {make_backend({}, kThreads), "the CPU"};
  }
}

PlannedCounts counted(const PlannedStep& step, const Planner& planner) {
  CaseSpec spec;
  spec.model = step.model;
  spec.batch = step.batch;
  spec.mode = *from_name<Mode>(step.mode);
  const WorkloadSpec workload = workload_spec(spec);
  const Precision precision = *from_name<Precision>(step.precision);
  const std::vector<Entry> entries = entries_of_mode(spec.mode);
  const Counts counts = count(workload);
  PlannedCounts planned{.parameters = counts.parameters,
                        .flops = spec.mode == Mode::train ? counts.train_flops_per_sample : counts.forward_flops_per_sample,
                        .device = planner.device,
                        .reason = {}};
  if (const auto reason = unsupported(workload, *planner.backend, entries, precision))
    planned.reason = *reason;
  else
    planned.bytes = static_cast<double>(memory(make_program(workload, *planner.backend, entries, precision)).total());
  return planned;
}

}  // namespace

ClaimFacts facts_for(std::span<const Claim> claims) {
  ClaimFacts facts;
  const std::vector<PlannedStep> steps = planned_steps(claims);
  if (steps.empty()) return facts;
  const Planner planner = make_planner();
  for (const PlannedStep& step : steps) {
    try {
      facts.plans.emplace(step, counted(step, planner));
    } catch (const std::exception& error) {
      throw CallError("claims: " + step.model + " " + step.precision + " cannot be planned: " + error.what());
    }
  }
  return facts;
}

}  // namespace epochbench
