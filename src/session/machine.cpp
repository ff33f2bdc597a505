#include "src/session/machine.h"

#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "src/base/errors.h"
#include "src/machine/environment.h"
#include "src/worker/case_driver.h"

namespace epochbench {

MeasuredCpu measured_cpu() try {
  return measure_cpu_in_child(WorkerCommand::own(), default_threads());
} catch (const std::runtime_error& error) {
  if (!interrupted()) print_error(std::string(error.what()) + "; fractions of the peak stay unknown");
  return {};
}

void measure_peaks_of(std::vector<GpuInfo>& gpus, int index) try {
  if (static_cast<std::size_t>(index) < gpus.size())
    static_cast<MeasuredGpu&>(gpus[static_cast<std::size_t>(index)]) = measure_gpu_in_child(WorkerCommand::own(), index);
} catch (const std::runtime_error& error) {
  if (!interrupted()) print_error(to_string(cuda_device(index)) + ": " + error.what() + "; fractions of the peak stay unknown");
}

SpreadPeaks::SpreadPeaks(CpuInfo& cpu, std::size_t runs, double cost_seconds, std::function<MeasuredCpu()> measure, Clock clock)
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
  const MeasuredCpu again = measure_();
  last_ = clock_();
  cost_seconds_ = last_ - now;
  add(again, now);
}

// Ignores a process that failed.
void SpreadPeaks::add(const MeasuredCpu& measured, double now) {
  if (!peak_in(measured.peak_flops_per_second, Precision::fp32)) return;
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
