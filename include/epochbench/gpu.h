// The GPUs of this machine as a result describes them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace epochbench {

// What a process measured of a GPU.
struct MeasuredGpu {
  std::map<std::string, std::optional<double>> peak_flops_per_second;  // by precision
  std::optional<double> memory_bandwidth_bytes_per_second, host_to_device_bytes_per_second;
};

struct GpuInfo : MeasuredGpu {
  std::string name, uuid, compute_capability, driver, cuda, cublas, cudnn;
  std::int64_t memory_bytes = 0;
  std::string pci_bus_id = {};  // "0000:65:00.0"; empty: not known
};

// The visible GPUs in the order of their indices, without measured values; allocates nothing on any device. Empty if there is
// none; make_cuda_backend() gives the reason.
std::vector<GpuInfo> list_gpus();

// Why GPUs cannot exchange data between ranks (NCCL), in one line that says how to fix it; empty if they can. Loads the
// library.
std::optional<std::string> gpu_ranks_obstacle();

// Measures the GPU with this index, in this process: products in each precision and copies of large random operands, the best
// of several. Errors: DeviceError, OutOfMemory.
MeasuredGpu measure_gpu(int index);

}  // namespace epochbench
