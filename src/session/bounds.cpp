#include "src/session/bounds.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "epochbench/precision.h"
#include "src/analysis/peak_share.h"
#include "src/analysis/predict/roofline.h"
#include "src/analysis/series.h"
#include "src/base/lookup.h"
#include "src/workload/lower_bound.h"
#include "src/workload/workload.h"

namespace epochbench {
namespace {

// The L2 of a B200, the largest of GPUs in the catalog: results do not have the card's.
constexpr double kGpuCacheBytes = 126e6;
// The fastest of 930 nodes that were profiled on an H200 (results/h200-record.json): what launching one costs.
constexpr double kGpuNodeSeconds = 3.8e-6;

void add_winograd(RatedLimits& limits, std::optional<double> fp32) {
  limits.winograd_flops_per_second = std::max(limits.flops_per_second.value_or(0), kWinogradSaving * fp32.value_or(0));
}

RatedLimits limits_of_cpu(const CpuInfo& cpu, const CpuPeaks& peaks, const Run& run) {
  const auto best = [&](Precision precision) -> std::optional<double> {
    const auto peak = peaks.of(run, precision);
    if (!peak) return std::nullopt;
    const int threads = run.device.threads.value_or(peak->threads);
    return peak->flops_per_second * (threads < peak->threads ? static_cast<double>(threads) / peak->threads : 1);
  };
  RatedLimits limits;
  limits.flops_per_second = best(product_precision(run));
  add_winograd(limits, best(Precision::fp32));
  limits.bytes_per_second = cpu.memory_bandwidth_bytes_per_second.value_or(0);
  limits.cache_bytes = static_cast<double>(cpu.l3_bytes.value_or(0)) * cpu.sockets.value_or(1);
  return limits;
}

RatedLimits limits_of_gpu(const Context& context, const Run& run) {
  RatedLimits limits;
  for (const GpuInfo& gpu : context.gpus) {
    if (gpu.name != run.device.name) continue;
    limits.flops_per_second = peak_in(gpu.peak_flops_per_second, run.precision);
    const bool transforms = std::strtod(gpu.compute_capability.c_str(), nullptr) < kFirstWithoutWinograd;
    add_winograd(limits, transforms ? peak_in(gpu.peak_flops_per_second, Precision::fp32) : std::nullopt);
    limits.bytes_per_second = gpu.memory_bandwidth_bytes_per_second.value_or(0);
    limits.cache_bytes = kGpuCacheBytes;
    limits.node_seconds = kGpuNodeSeconds;
    break;
  }
  return limits;
}

void set_bound(Run& run, const std::vector<NodeDemand>& demands, const Context& context, const CpuPeaks& peaks) {
  if (run.status != RunStatus::ok || !run.efficiency || run.ranks) return;
  RatedLimits limits = runs_on_gpu(run) ? limits_of_gpu(context, run) : limits_of_cpu(context.cpu, peaks, run);
  if (!(limits.flops_per_second.value_or(0) > 0) || !(limits.bytes_per_second > 0)) return;
  if (const double seconds = time_bound(demands, limits).seconds; seconds > 0) run.efficiency->bound_seconds = seconds;
  limits.cache_bytes = 0;
  const TimeBound roofline = time_bound(demands, limits);
  if (!(roofline.seconds > 0)) return;
  run.efficiency->roofline_seconds = roofline.seconds;
  run.efficiency->launched_roofline_seconds = roofline.launched_seconds;
}

// Empty if this build knows no such model, or counts other work.
std::vector<NodeDemand> demands_of(const Run& run) {
  CaseSpec spec;
  spec.batch = run.workload.batch;
  spec.mode = run.workload.mode;
  spec.precision = run.precision;
  try {
    spec.model = find_model(run.workload.model);
    const Counts counts = count(workload_spec(spec));
    const bool same =
        counts.parameters == run.workload.parameters && counts.train_flops_per_sample == run.workload.train_flops_per_sample;
    return same ? demands_of(spec) : std::vector<NodeDemand>();
  } catch (const std::exception&) {  // a model of another version
    return {};
  }
}

}  // namespace

std::vector<NodeDemand> demands_of(const CaseSpec& spec) {
  std::vector<NodeDemand> demands;
  for (const NodeWork& node : min_work(workload_spec(spec), spec.mode, spec.precision))
    demands.push_back({node.flops, node.bytes, node.winograd, node.work_class});
  return demands;
}

void add_bounds(Result& result) {
  const CpuPeaks peaks(result);
  std::map<std::tuple<std::string, Mode, std::int64_t, Precision>, std::vector<NodeDemand>> known;
  for (Run& run : result.runs) {
    if (run.status != RunStatus::ok || !run.efficiency || run.efficiency->bound_seconds) continue;
    const auto [place, is_new] = known.try_emplace({run.workload.model, run.workload.mode, run.workload.batch, run.precision});
    if (is_new) place->second = demands_of(run);
    if (!place->second.empty()) set_bound(run, place->second, result.context, peaks);
  }
}

}  // namespace epochbench
