// What run and info both ask of this machine.
#pragma once

#include <string>
#include <vector>

#include "epochbench/result.h"

namespace epochbench {

std::string own_binary();  // the path of this program

// Measures the CPU's peaks and memory bandwidth in a process of its own. Where that fails they stay unknown, and one line
// says why.
void measure_peaks_of(CpuInfo& cpu);
// Likewise of the GPU with this index in `gpus`.
void measure_peaks_of(std::vector<GpuInfo>& gpus, int index);

// The index of a device "cuda:N"; -1 for "cpu".
int cuda_index(const std::string& device);

}  // namespace epochbench
