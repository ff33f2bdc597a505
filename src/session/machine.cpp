#include "src/session/machine.h"

#include <cstdlib>
#include <stdexcept>
#include <utility>

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

SpreadPeaks::SpreadPeaks(CpuInfo& cpu, std::size_t runs, double cost_seconds, std::function<void(CpuInfo&)> measure,
                         Clock clock)
    : cpu_(&cpu),
      runs_(runs),
      measure_(std::move(measure)),
      clock_(std::move(clock)),
      cost_seconds_(cost_seconds),
      began_(clock_()),
      last_(began_) {
  if (cpu.peak_processes.empty())
    add(cpu, began_);
  else  // known from a resumed result
    began_ -= cpu.peak_processes.back().seconds;
}

void SpreadPeaks::after_run(std::size_t done) {
  const std::size_t known = cpu_->peak_processes.size();
  const bool due = runs_ > 0 && known > 0 && known < kProcesses && done * (kProcesses - 1) >= known * runs_;
  const double now = clock_();
  if (!due || now - last_ < kMinSpacing * cost_seconds_) return;
  CpuInfo again = *cpu_;
  again.peak_flops_per_second.clear();
  again.memory_bandwidth_bytes_per_second.reset();
  measure_(again);
  last_ = clock_();
  cost_seconds_ = last_ - now;
  add(again, now);
}

// Ignores a process that failed.
void SpreadPeaks::add(const CpuInfo& measured, double now) {
  const auto fp32 = measured.peak_flops_per_second.find(name(Precision::fp32));
  if (fp32 == measured.peak_flops_per_second.end() || !fp32->second) return;
  cpu_->peak_processes.push_back({now - began_, measured.peak_flops_per_second, measured.memory_bandwidth_bytes_per_second});
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
