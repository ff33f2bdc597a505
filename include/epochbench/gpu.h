// The GPUs of this machine as a result describes them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace epochbench {

struct GpuInfo {
  std::string name, uuid, compute_capability, driver, cuda, cublas, cudnn;
  std::int64_t memory_bytes = 0;
  std::map<std::string, std::optional<double>> peak_flops_per_second;
  std::optional<double> memory_bandwidth_bytes_per_second, host_to_device_bytes_per_second;
  std::string pci_bus_id = {};  // "0000:65:00.0"; empty: not known
};

// The visible ones in the order of their indices, without what is measured; takes nothing of any device. Empty where there is
// none, whatever the reason: make_cuda_backend() tells it.
std::vector<GpuInfo> list_gpus();

// Fills in what is measured, on that device and in this process: products of each precision and copies of large random
// operands, the best of several. Errors: DeviceError, OutOfMemory.
void measure_gpu(GpuInfo& gpu, int index);

}  // namespace epochbench
