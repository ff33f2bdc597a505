#include "src/session/this_cpu.h"

#include <optional>

#include "epochbench/backend.h"
#include "src/machine/environment.h"
#include "src/machine/peaks.h"

namespace epochbench {
namespace {

constexpr double kGiga = 1e9, kMiB = 1 << 20, kGiB = 1 << 30;
constexpr const char* kUnknown = "not available on this CPU";

struct ThisCpu {
  CatalogDevice device;
  CpuInstance cores;
};

CatalogFact fact(std::optional<double> value, double unit) {
  if (!value || !(*value > 0)) return {{}, "", kUnknown};
  return {*value / unit, "measured here", ""};
}

ThisCpu described() {
  CpuInfo cpu = cpu_info();
  static_cast<MeasuredCpu&>(cpu) = measure_cpu(default_threads());
  ThisCpu here;
  here.cores = {"cpu", default_threads(), 1, static_cast<double>(cpu.memory_bytes.value_or(0)) / kGiB};
  here.device.id = "cpu";
  here.device.name = cpu.model;
  here.device.is_gpu = false;
  const double flop_per_cycle = kGiga * here.cores.cores;  // at a nominal clock of 1 GHz
  auto& facts = here.device.facts;
  facts["clock_ghz"] = {1, "measured here", ""};
  facts["socket_cores"] = {here.cores.cores, "measured here", ""};
  facts["fp32_flop_per_cycle"] = fact(cpu.peak_flops_per_second["fp32"], flop_per_cycle);
  facts["bf16_flop_per_cycle"] = fact(cpu.peak_flops_per_second["bf16"], flop_per_cycle);
  facts["socket_bandwidth_gb_per_second"] = fact(cpu.memory_bandwidth_bytes_per_second, kGiga);
  facts["socket_cache_mib"] = fact(cpu.l3_bytes ? std::optional<double>(*cpu.l3_bytes) : std::nullopt, kMiB);
  if (!facts["fp32_flop_per_cycle"].value || !facts["socket_bandwidth_gb_per_second"].value)
    throw DeviceError("--on cpu: the peaks of this CPU could not be measured; `epochbench info` shows them");
  return here;
}

}  // namespace

PredictionTarget this_cpu() {
  static const ThisCpu here = described();
  return {&here.device, &here.cores, nullptr};
}

}  // namespace epochbench
