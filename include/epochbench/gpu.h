// The GPUs of this machine as a result describes them.
#pragma once

#include <vector>

#include "epochbench/result.h"

namespace epochbench {

// The visible ones in the order of their indices, without what is measured; takes nothing of any device. Empty where there is
// none, whatever the reason: make_cuda_backend() tells it.
std::vector<GpuInfo> list_gpus();

// Fills in what is measured, on that device and in this process: products of each precision and copies of large random
// operands, the best of several. Errors: DeviceError, OutOfMemory.
void measure_gpu(GpuInfo& gpu, int index);

}  // namespace epochbench
