#include "src/session/claim_plans.h"

#include <map>
#include <memory>

#include "epochbench/backend.h"
#include "epochbench/precision.h"
#include "src/base/errors.h"
#include "src/base/lookup.h"
#include "src/base/text.h"
#include "src/session/predicting.h"
#include "src/workload/workload.h"

namespace epochbench {
namespace {

// For a GPU, or for the CPU in a build without CUDA; the answers say which.
struct Planner {
  std::unique_ptr<Backend> backend;
  std::string device;
};

Planner make_planner() {
  constexpr int kThreads = 1;                                // so that every machine plans the same
  const BackendOptions kMinMemory{.packed_weights = false};  // a second copy of weights saves time only
  try {
    return {make_cuda_planner(), "a GPU"};
  } catch (const DeviceError&) {
    return {make_backend({}, kThreads, kMinMemory), "the CPU"};
  }
}

CaseSpec case_of(const PlannedStep& step) {
  CaseSpec spec;
  spec.model = find_model(step.model);
  spec.batch = step.batch;
  spec.mode = step.mode;
  spec.precision = step.precision;
  return spec;
}

PlannedCounts planned_counts(const PlannedStep& step, const Planner& planner) {
  const CaseSpec spec = case_of(step);
  const WorkloadSpec workload = workload_spec(spec);
  const Precision precision = spec.precision;
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

// Each step is planned once for all of its devices.
void add_predictions(ClaimFacts& facts, const std::set<PredictedStep>& steps) {
  std::map<PlannedStep, std::vector<std::string>> devices;
  for (const PredictedStep& step : steps) devices[step.step].push_back(step.device);
  for (const auto& [step, names] : devices) {
    try {
      const std::vector<std::optional<Prediction>> predictions = predictions_on(names, case_of(step));
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (predictions[i]) facts.predictions.emplace(PredictedStep{names[i], step}, *predictions[i]);
        if (const CatalogPrice* price = instance_price(names[i])) facts.instances.emplace(names[i], *price);
      }
    } catch (const std::exception& error) {
      throw CallError("claims: " + step.model + " on " + joined(names) + " cannot be predicted: " + error.what());
    }
  }
}

}  // namespace

ClaimFacts facts_for(std::span<const Claim> claims) {
  ClaimFacts facts;
  const ClaimSteps steps = steps_of(claims);
  add_predictions(facts, steps.predicted);
  if (steps.planned.empty()) return facts;
  const Planner planner = make_planner();
  for (const PlannedStep& step : steps.planned) {
    try {
      facts.plans.emplace(step, planned_counts(step, planner));
    } catch (const std::exception& error) {
      throw CallError("claims: " + step.model + " " + name(step.precision) + " cannot be planned: " + error.what());
    }
  }
  return facts;
}

}  // namespace epochbench
