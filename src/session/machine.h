// What run and info both ask of this machine.
#pragma once

#include <vector>

#include "src/machine/meters.h"
#include "src/result/result.h"

namespace epochbench {

// Measures the CPU's peaks and memory bandwidth in a process of its own. Where that fails they stay unknown, and one line
// says why.
void measure_peaks_of(CpuInfo& cpu);
// Likewise of the GPU with this index in `gpus`.
void measure_peaks_of(std::vector<GpuInfo>& gpus, int index);

// Where the meters are: at the usual place, or where EPOCHBENCH_POWERCAP (a folder of powercap domains, as a container may
// have it mounted elsewhere) and EPOCHBENCH_NVML (NVIDIA's management library) say. What is read elsewhere is remarked on.
MeterSources meter_sources();

}  // namespace epochbench
