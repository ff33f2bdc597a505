#include "src/session/predicting.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "epochbench/precision.h"
#include "src/base/errors.h"
#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/case/case_block.h"
#include "src/session/bounds.h"
#include "src/session/prices.h"
#include "src/session/this_cpu.h"
#include "src/workload/lower_bound.h"
#include "src/workload/nominal_epoch.h"

namespace epochbench {
namespace {

CaseSpec with_batch(CaseSpec spec, std::int64_t batch) {
  spec.batch = batch;
  return spec;
}

// The memory of one case by batch; each batch is planned once.
class MemoryByBatch {
 public:
  MemoryByBatch(CaseSpec spec, bool on_gpu) : spec_(std::move(spec)), on_gpu_(on_gpu) {}

  double bytes(std::int64_t batch) {
    const auto [place, is_new] = known_.try_emplace(batch, 0);
    if (is_new)
      place->second =
          static_cast<double>(min_memory_bytes(workload_spec(with_batch(spec_, batch)), spec_.mode, spec_.precision, on_gpu_));
    return place->second;
  }

  // The batch, halved as long as it does not fit and its halves have equal parts.
  std::int64_t halved_within(double limit_bytes, std::int64_t batch) {
    while (batch % (2 * spec_.accumulate) == 0 && bytes(batch) > limit_bytes) batch /= 2;
    return batch;
  }

  // The largest batch of equal parts within the limit; 0: none fits.
  std::int64_t largest_within(double limit_bytes) {
    const std::int64_t parts = spec_.accumulate;
    return parts * largest_batch([&](std::int64_t samples) { return bytes(samples * parts) <= limit_bytes; });
  }

 private:
  CaseSpec spec_;
  bool on_gpu_;
  std::map<std::int64_t, double> known_;
};

PlannedWork planned(const CaseSpec& spec) {
  const WorkloadSpec workload = workload_spec(spec);
  PlannedWork work{workload.model.name, spec.precision, spec.mode, workload.config.batch, 0, {}, {}};
  const SampleSpec sample = workload.model.family->sample(workload.config);
  if (sample.text()) work.tokens_per_sample = sample.sequence;
  work.parts = workload.accumulate;
  work.checkpoint = workload.checkpoint;
  work.nodes = demands_of(spec);
  return work;
}

// A case as every device needs it, planned once per batch.
class WorkByBatch {
 public:
  explicit WorkByBatch(const CaseSpec& spec) : spec_(spec), on_gpu_(spec, true), on_cpu_(spec, false) {}

  MemoryByBatch& memory_on(const PredictionTarget& target) { return target.device->is_gpu ? on_gpu_ : on_cpu_; }

  PlannedWork work(const PredictionTarget& target, std::int64_t batch) {
    const auto [place, is_new] = known_.try_emplace(batch);
    if (is_new) place->second = planned(with_batch(spec_, batch));
    PlannedWork work = place->second;
    work.memory_bytes = memory_on(target).bytes(batch);
    return work;
  }

 private:
  CaseSpec spec_;
  MemoryByBatch on_gpu_, on_cpu_;
  std::map<std::int64_t, PlannedWork> known_;
};

// Errors: CallError for tokens of a model that has none.
std::optional<EpochsAsked> epochs_of(const PredictionRequest& request, const CaseSpec& spec) {
  const WorkloadSpec workload = workload_spec(spec);
  if (request.tokens) {
    const SampleSpec sample = workload.model.family->sample(workload.config);
    if (!sample.text()) throw CallError("--tokens: " + workload.model.name + " trains on images; give --epochs");
    return EpochsAsked{1, std::max<std::int64_t>(1, *request.tokens / sample.sequence)};
  }
  if (!request.epochs) return std::nullopt;
  Workload epoch;
  epoch.model = workload.model.name;
  epoch.batch = workload.config.batch;
  epoch.dataset = "synthetic";
  epoch.samples_per_epoch = spec.epoch_samples.value_or(workload.model.family->nominal_epoch.samples);
  if (const SampleSpec sample = workload.model.family->sample(workload.config); sample.text())
    epoch.tokens_per_sample = sample.sequence;
  return EpochsAsked{*request.epochs, epoch.samples_per_epoch, nominal_dataset(epoch).value_or("")};
}

std::vector<PredictionTarget> every_target() {
  std::vector<PredictionTarget> targets;
  for (const CatalogDevice& device : embedded_devices().devices) {
    if (device.is_gpu) targets.push_back({&device, nullptr, nullptr});
    for (const CpuInstance& instance : device.instances) targets.push_back({&device, &instance, nullptr});
  }
  return targets;
}

bool is_all(const std::vector<std::string>& on) { return on.size() == 1 && on.front() == "all"; }

// The device of every row. Errors: CallError if the catalog lacks it.
std::vector<PredictionTarget> priced_targets(std::span<const CatalogPrice> prices) {
  std::vector<PredictionTarget> targets;
  for (const CatalogPrice& price : prices) {
    const std::string& name = price.gpu_count > 0 ? price.gpu_model : price.instance;
    targets.push_back(find_target(embedded_devices(), {}, name));
    targets.back().price = &price;
  }
  return targets;
}

// The targets point into the prices.
std::vector<PredictionTarget> targets_of(const std::vector<std::string>& on, std::span<const CatalogPrice> prices) {
  if (is_all(on)) return every_target();
  std::vector<PredictionTarget> targets;
  const auto found = [&](const std::string& text) {
    return text == "cpu" ? this_cpu() : find_target(embedded_devices(), prices, text);
  };
  for (const std::string& text : on) targets.push_back(located("--on", [&] { return found(text); }));
  return targets;
}

bool has_precision(const PredictionTarget& target, Precision precision) {
  return limits_of(target, precision).flops_per_second.has_value();
}

// Those that at least one of the targets has.
std::vector<Precision> precisions_of(const std::vector<PredictionTarget>& targets) {
  std::vector<Precision> precisions(std::begin(kPrecisions), std::end(kPrecisions));
  std::erase_if(precisions, [&](Precision precision) {
    return std::ranges::none_of(targets, [&](const PredictionTarget& target) { return has_precision(target, precision); });
  });
  return precisions;
}

// Throws CallError: none of the devices has the precision.
[[noreturn]] void refuse_precision(const std::vector<PredictionTarget>& targets, Precision precision) {
  throw CallError(std::string("--precision ") + name(precision) + ": none of the devices of --on has it, " +
                  targets.front().name() + ": " + limits_of(targets.front(), precision).reason + "; choose from " +
                  joined(precisions_of(targets), [](Precision other) { return std::string(name(other)); }));
}

// A case on a target, once per price, without its largest batch unless the request needs that.
std::vector<Prediction> predicted(const PredictionRequest& request, const PredictionTarget& target, const CaseSpec& spec,
                                  WorkByBatch& works) {
  MemoryByBatch& memory = works.memory_on(target);
  const double limit_bytes = limits_of(target, spec.precision).memory_bytes;
  const std::int64_t asked = workload_spec(spec).config.batch;
  const std::int64_t batch = request.largest_batch ? std::max(memory.largest_within(limit_bytes), spec.accumulate)
                             : request.halve_batch ? memory.halved_within(limit_bytes, asked)
                                                   : asked;
  const PredictionQuestion question{target, works.work(target, batch), {}, epochs_of(request, spec)};
  return predict(embedded_devices(), request.prices, question, today());
}

// A case on each target, in the fastest of `precisions` that it has.
void add_predictions(std::vector<Prediction>& predictions, const PredictionRequest& request,
                     const std::vector<PredictionTarget>& targets, CaseSpec spec, const std::vector<Precision>& precisions) {
  std::map<Precision, WorkByBatch> works;
  for (const PredictionTarget& target : targets) {
    std::vector<Prediction> fastest;
    const bool has_any = std::ranges::any_of(precisions, [&](Precision each) { return has_precision(target, each); });
    for (const Precision precision : precisions) {
      if (has_any && !has_precision(target, precision)) continue;
      spec.precision = precision;
      std::vector<Prediction> each = predicted(request, target, spec, works.try_emplace(precision, spec).first->second);
      if (fastest.empty() || is_faster(each.front(), fastest.front())) fastest = std::move(each);
    }
    std::optional<std::int64_t> largest;
    if (request.largest_batch || request.search_largest)
      largest = works.at(fastest.front().work.precision).memory_on(target).largest_within(fastest.front().device_memory_bytes);
    for (Prediction& each : fastest) {
      each.fastest_precision = precisions.size() > 1;
      each.largest_batch = largest;
      predictions.push_back(std::move(each));
    }
  }
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

std::vector<Precision> precisions_on(const std::vector<std::string>& on) {
  const std::vector<Precision> all(std::begin(kPrecisions), std::end(kPrecisions));
  try {
    return on.empty() ? all : precisions_of(targets_of(on, embedded_prices().prices));
  } catch (const CallError&) {
    return all;
  }
}

std::vector<Prediction> predictions_of(const PredictionRequest& request) {
  const std::vector<PredictionTarget> targets =
      request.on.empty() ? priced_targets(request.prices) : targets_of(request.on, request.prices);
  std::vector<Prediction> predictions;
  for (const CaseSpec& spec : request.cases) {
    const std::vector<Precision> named = request.fastest_of.empty() ? std::vector{spec.precision} : request.fastest_of;
    const std::vector<Precision> known = precisions_of(targets);
    if (std::ranges::none_of(named, [&](Precision each) { return contains(known, each); }))
      refuse_precision(targets, named.front());
    add_predictions(predictions, request, targets, spec, named);
  }
  if (request.epochs || request.tokens)
    sort_by_cost(predictions);
  else if (is_all(request.on))
    std::ranges::stable_sort(predictions, {}, &Prediction::device_memory_bytes);
  return predictions;
}

std::vector<std::optional<Prediction>> predictions_on(const std::vector<std::string>& devices, const CaseSpec& spec) {
  WorkByBatch works(spec);
  const std::int64_t batch = workload_spec(spec).config.batch;
  std::vector<std::optional<Prediction>> predictions;
  for (const std::string& device : devices) {
    const PredictionTarget target = find_target(embedded_devices(), embedded_prices().prices, device);
    predictions.emplace_back();
    if (!limits_of(target, spec.precision).flops_per_second) continue;
    const PredictionQuestion question{target, works.work(target, batch), {}, {}};
    predictions.back() = predict(embedded_devices(), embedded_prices().prices, question, today()).front();
  }
  return predictions;
}

const CatalogPrice* instance_price(const std::string& device) {
  const PredictionTarget target = find_target(embedded_devices(), embedded_prices().prices, device);
  if (target.price) return target.price;
  return target.instance ? find_price(embedded_prices().prices, target.instance->name) : nullptr;
}

Rentals rentals_of(const RentalQuestion& question) {
  PredictionRequest request = question.request;
  request.search_largest = false;
  Rentals rentals;
  rentals.max_usd = question.max_usd;
  std::set<std::string> seen, fitting;
  // Cheapest first, and bounds after expectations: the first of an instance is its best.
  for (Prediction& each : predictions_of(request)) {
    const std::string instance = each.cost ? each.cost->instance : each.name;
    const std::string row = each.cost ? each.cost->price : each.name;
    rentals.asked = each.asked.value_or(EpochsAsked{});
    if (!each.fits && !contains(rentals.unfit, instance)) rentals.unfit.push_back(instance);
    const std::string& unpriced = each.cost_reason;
    if (!unpriced.empty() && !contains(rentals.unpriced, unpriced)) rentals.unpriced.push_back(unpriced);
    if (!each.cost || !each.cost->usd || !seen.insert(row).second) continue;
    fitting.insert(instance);
    const PredictedAmount& usd = *each.cost->usd;
    const double cost = usd.expected.value_or(usd.at_least);
    std::vector<Prediction>& list = question.max_usd && cost > *question.max_usd ? rentals.too_expensive
                                    : usd.expected                               ? rentals.predictions
                                                                                 : rentals.bounded;
    list.push_back(std::move(each));
  }
  std::erase_if(rentals.unfit, [&](const std::string& instance) { return fitting.contains(instance); });
  return rentals;
}

std::int64_t parse_tokens(const std::string& text) {
  constexpr std::pair<char, const char*> kSuffixes[] = {{'K', "e3"}, {'M', "e6"}, {'B', "e9"}, {'G', "e9"}, {'T', "e12"}};
  try {
    return static_cast<std::int64_t>(parse_real(text, {1, 1e18}));
  } catch (const CallError& error) {
    for (const auto& [suffix, exponent] : kSuffixes)
      if (text.size() > 1 && std::toupper(static_cast<unsigned char>(text.back())) == suffix)
        throw CallError(std::string(error.what()) + "; write " + text.substr(0, text.size() - 1) + exponent);
    throw;
  }
}

}  // namespace epochbench
