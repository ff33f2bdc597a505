#include "src/session/predicting.h"

#include <algorithm>
#include <map>
#include <utility>

#include "src/base/errors.h"
#include "src/case/case_block.h"
#include "src/session/prices.h"
#include "src/workload/least_program.h"

namespace epochbench {
namespace {

CaseSpec with_batch(CaseSpec spec, std::int64_t batch) {
  spec.batch = batch;
  return spec;
}

// The memory of one case by batch, planned once each.
class MemoryByBatch {
 public:
  explicit MemoryByBatch(CaseSpec spec) : spec_(std::move(spec)) {}

  double bytes(std::int64_t batch) {
    const auto [place, is_new] = known_.try_emplace(batch, 0);
    if (is_new)
      place->second =
          static_cast<double>(least_memory_bytes(workload_spec(with_batch(spec_, batch)), spec_.mode, spec_.precision));
    return place->second;
  }

  // The largest batch within the limit; 0: none is.
  std::int64_t largest_within(double limit_bytes) {
    return largest_batch([&](std::int64_t batch) { return bytes(batch) <= limit_bytes; });
  }

 private:
  CaseSpec spec_;
  std::map<std::int64_t, double> known_;
};

PlannedWork planned(const CaseSpec& spec, double memory_bytes) {
  const WorkloadSpec workload = workload_spec(spec);
  PlannedWork work{workload.model.name, spec.precision, name(spec.mode), workload.config.batch, memory_bytes, {}};
  for (const NodeWork& node : least_work(workload, spec.mode, spec.precision))
    work.nodes.push_back({node.flops, node.bytes, node.winograd});
  return work;
}

std::optional<EpochsAsked> epochs_of(const PredictionRequest& request, const CaseSpec& spec) {
  if (!request.epochs) return std::nullopt;
  return EpochsAsked{*request.epochs, spec.epoch_samples.value_or(workload_spec(spec).model.family->nominal_samples_per_epoch)};
}

// Errors: CallError where a precision is on none of the devices.
void check_precision(const std::vector<PredictionTarget>& targets, Precision precision) {
  std::string reason;
  for (const PredictionTarget& target : targets) {
    const RatedLimits limits = limits_of(target, precision);
    if (limits.flops_per_second) return;
    if (reason.empty()) reason = target.name() + ": " + limits.reason;
  }
  throw CallError(std::string("--precision ") + name(precision) + ": none of the devices of --on has it, " + reason +
                  "; choose another precision or device");
}

}  // namespace

std::int64_t largest_batch(const std::function<bool(std::int64_t)>& fits) {
  std::int64_t fitting = 0, beyond = 1;
  while (beyond <= kMaxBatch && fits(beyond)) fitting = std::exchange(beyond, 2 * beyond);
  beyond = std::min(beyond, kMaxBatch + 1);
  while (beyond - fitting > 1) {
    const std::int64_t middle = fitting + (beyond - fitting) / 2;
    (fits(middle) ? fitting : beyond) = middle;
  }
  return fitting;
}

std::vector<Prediction> predictions_of(const PredictionRequest& request) {
  std::vector<PredictionTarget> targets;
  for (const std::string& text : request.on)
    targets.push_back(located("--on", [&] { return find_target(embedded_devices(), embedded_prices().prices, text); }));
  std::vector<Prediction> predictions;
  for (const CaseSpec& spec : request.cases) {
    check_precision(targets, spec.precision);
    MemoryByBatch memory(spec);
    const std::int64_t asked = workload_spec(spec).config.batch;
    for (const PredictionTarget& target : targets) {
      const std::int64_t largest = memory.largest_within(limits_of(target, spec.precision).memory_bytes);
      const std::int64_t batch = request.largest_batch ? std::max<std::int64_t>(largest, 1) : asked;
      const PredictionQuestion question{target, planned(with_batch(spec, batch), memory.bytes(batch)), largest,
                                        epochs_of(request, spec)};
      for (Prediction& each : predict(embedded_devices(), embedded_prices().prices, question, today()))
        predictions.push_back(std::move(each));
    }
  }
  if (request.epochs) sort_by_cost(predictions);
  return predictions;
}

}  // namespace epochbench
