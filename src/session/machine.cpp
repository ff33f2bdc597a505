#include "src/session/machine.h"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "src/base/errors.h"
#include "src/base/signals.h"
#include "src/machine/environment.h"
#include "src/worker/case_driver.h"

namespace epochbench {

std::string own_binary() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

void measure_peaks_of(CpuInfo& cpu) try {
  const Peaks peaks = measure_peaks_in_child(own_binary(), default_threads());
  cpu.peak_flops_per_second = {{"fp32", peaks.fp32_flops_per_second}, {"bf16", peaks.bf16_flops_per_second}};
  cpu.memory_bandwidth_bytes_per_second = peaks.memory_bandwidth_bytes_per_second;
  cpu.peak_instruction = {{"fp32", peaks.fp32_instruction}, {"bf16", peaks.bf16_instruction}};
  cpu.peak_threads = peaks.threads;
} catch (const std::runtime_error& error) {
  if (!interrupted()) print_error(std::string(error.what()) + "; fractions of the peak stay unknown");
}

void measure_peaks_of(std::vector<GpuInfo>& gpus, int index) try {
  if (static_cast<std::size_t>(index) < gpus.size())
    measure_gpu_in_child(own_binary(), gpus[static_cast<std::size_t>(index)], index);
} catch (const std::runtime_error& error) {
  if (!interrupted()) print_error(to_string(cuda_device(index)) + ": " + error.what() + "; fractions of the peak stay unknown");
}

MeterSources meter_sources() {
  MeterSources sources;
  const auto take = [](const char* variable, std::string& place) {
    if (const char* value = std::getenv(variable); value && *value) place = value;
  };
  take("EPOCHBENCH_POWERCAP", sources.powercap);
  take("EPOCHBENCH_NVML", sources.nvml);
  return sources;
}

}  // namespace epochbench
