#include "src/analysis/predict/roofline.h"

#include <algorithm>
#include <string>

namespace epochbench {
namespace {

constexpr double kGiga = 1e9, kTera = 1e12, kMiB = 1 << 20, kGiB = 1 << 30;

double known(const CatalogDevice& device, const char* key) { return device.facts.at(key).value.value_or(0); }

// FLOP/s of the whole device or instance, or the reason why it is not known.
CatalogFact peak_of(const PredictionTarget& target, Precision precision) {
  const CatalogDevice& device = *target.device;
  const std::string unit = device.is_gpu ? "_tflops" : "_flop_per_cycle";
  const auto fact = device.facts.find(name(precision) + unit);
  if (fact == device.facts.end())
    return {
        {}, "", device.is_gpu ? "the catalog has no peaks in " + std::string(name(precision)) : "CPUs train in fp32 or bf16"};
  if (!fact->second.value) return fact->second;
  const double scale = device.is_gpu ? kTera : known(device, "clock_ghz") * kGiga * target.instance->cores;
  return {*fact->second.value * scale, fact->second.source, ""};
}

}  // namespace

RatedLimits limits_of(const PredictionTarget& target, Precision precision) {
  const CatalogDevice& device = *target.device;
  const CatalogFact peak = peak_of(target, precision), fp32 = peak_of(target, Precision::fp32);
  RatedLimits limits;
  limits.flops_per_second = peak.value;
  limits.reason = peak.reason;
  const bool transforms = !device.is_gpu || known(device, "compute_capability") < kFirstWithoutWinograd;
  limits.winograd_flops_per_second =
      std::max(peak.value.value_or(0), transforms ? kWinogradSaving * fp32.value.value_or(0) : 0);
  if (device.is_gpu) {
    limits.bytes_per_second = known(device, "bandwidth_gb_per_second") * kGiga;
    limits.cache_bytes = known(device, "cache_mib") * kMiB;
    limits.memory_bytes = known(device, "memory_gib") * kGiB;
  } else {
    limits.bytes_per_second = known(device, "socket_bandwidth_gb_per_second") * kGiga * target.instance->sockets;
    limits.cache_bytes = known(device, "socket_cache_mib") * kMiB * target.instance->sockets;
    limits.memory_bytes = target.instance->memory_gib * kGiB;
  }
  return limits;
}

double TimeBound::bound_share() const {
  return seconds > 0 ? std::max(compute_seconds, seconds - compute_seconds) / seconds : 0;
}

TimeBound time_bound(std::span<const NodeDemand> nodes, const RatedLimits& limits) {
  TimeBound least;
  for (const NodeDemand& node : nodes) {
    const double compute = node.flops / (node.winograd ? limits.winograd_flops_per_second : limits.flops_per_second.value());
    const double transfer = std::max(0.0, node.bytes - 2 * limits.cache_bytes) / limits.bytes_per_second;
    least.seconds += std::max(compute, transfer);
    least.launched_seconds += std::max({compute, transfer, limits.node_seconds});
    if (compute >= transfer) least.compute_seconds += compute;
  }
  return least;
}

}  // namespace epochbench
