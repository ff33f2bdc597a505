#include "src/session/machine.h"

#include <cstdlib>
#include <stdexcept>

#include "src/base/errors.h"
#include "src/machine/environment.h"
#include "src/worker/case_driver.h"

namespace epochbench {

void measure_peaks_of(CpuInfo& cpu) try {
  measure_peaks_in_child(WorkerCommand::own(), cpu, default_threads());
} catch (const std::runtime_error& error) {
  if (!interrupted()) print_error(std::string(error.what()) + "; fractions of the peak stay unknown");
}

void measure_peaks_of(std::vector<GpuInfo>& gpus, int index) try {
  if (static_cast<std::size_t>(index) < gpus.size())
    measure_peaks_in_child(WorkerCommand::own(), gpus[static_cast<std::size_t>(index)], index);
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
