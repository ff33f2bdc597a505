// What run and info both need to know about this machine.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "src/base/clock.h"
#include "src/machine/meters.h"
#include "src/result/result.h"

namespace epochbench {

// Measures the CPU's peaks and memory bandwidth in a separate process. If that fails they are unknown, and one line says why.
MeasuredCpu measured_cpu();
// Likewise for the GPU with this index in `gpus`.
void measure_peaks_of(std::vector<GpuInfo>& gpus, int index);

// Peaks of the CPU from several processes, so that a single result has an interval: the one that gave `cpu` its peaks, and
// later ones spread evenly over `runs` runs, each only if it costs at most a twentieth of the time since the previous one.
class SpreadPeaks {
 public:
  static constexpr std::size_t kProcesses = 5;
  static constexpr double kMinSpacing = 20;  // times what a process costs

  // `cost_seconds`: of the process that gave `cpu` its peaks.
  SpreadPeaks(CpuInfo& cpu, std::size_t runs, double cost_seconds, std::function<MeasuredCpu()> measure = measured_cpu,
              Clock clock = steady_seconds);

  void after_run(std::size_t done);  // `done`: runs so far

 private:
  void add(const MeasuredCpu& measured, double now);

  CpuInfo* cpu_;
  std::size_t runs_;
  std::function<MeasuredCpu()> measure_;
  Clock clock_;
  double cost_seconds_, began_, last_;
};

// Where the meters are: at the usual place, or where EPOCHBENCH_POWERCAP (a folder of powercap domains, as a container may have
// it mounted elsewhere) and EPOCHBENCH_NVML (NVIDIA's management library) say. Readings from elsewhere get a remark.
MeterSources meter_sources();

}  // namespace epochbench
