// GPUs in the format of cuDNN 9 device descriptions, to query the engines that it offers for them without a GPU. The numbers
// are from NVIDIA's data sheets and the CUDA programming guide's tables for compute capabilities 7.5, 8.0, 8.9, 9.0 and 12.0.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cuda/libraries/cudnn_graphs.h"

namespace epochbench::test {

// What differs between the GPUs below.
struct GpuDescription {
  const char* name;
  int capability;  // 90 is compute capability 9.0
  std::int64_t memory_bytes, l2_bytes;
  int multiprocessors, clock_khz, memory_clock_khz;
  int threads, blocks;  // per multiprocessor, at most
  int shared_bytes;     // per block, at most, by opting in
  int reserved_shared_bytes = 1024;
};

inline cuda::DescribedDevice described(const GpuDescription& gpu) {
  const auto field = [](const char* key, std::int64_t value) {
    return std::string(", \"") + key + "\": " + std::to_string(value);
  };
  return {gpu.capability, std::string("{\"deviceName\": \"") + gpu.name + "\"" + field("deviceVer", gpu.capability * 10) +
                              field("totalGlobalMem", gpu.memory_bytes) + field("l2CacheSize", gpu.l2_bytes) +
                              field("multiProcessorCount", gpu.multiprocessors) + field("smClockRateKHz", gpu.clock_khz) +
                              field("memClockRateKHz", gpu.memory_clock_khz) + field("maxThreadsPerSM", gpu.threads) +
                              field("maxCtasPerSM", gpu.blocks) + field("maxSharedMemoryPerBlockOptin", gpu.shared_bytes) +
                              field("reservedSharedMemoryPerBlock", gpu.reserved_shared_bytes) + R"(,
    "cudaDeviceId": 0, "pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1, "driverVer": 13000, "warpSize": 32,
    "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "maxThreadsPerBlock": 1024,
    "regsPerBlock": 65536, "maxRegistersPerSM": 65536, "maxSharedMemoryPerBlock": 49152})"};
}

inline cuda::DescribedDevice described_h200() {
  return described({"NVIDIA H200", 90, 150000000000, 62914560, 132, 1980000, 3201000, 2048, 32, 232448});
}
inline cuda::DescribedDevice described_h100() {
  return described({"NVIDIA H100 80GB HBM3", 90, 85000000000, 52428800, 132, 1980000, 2619000, 2048, 32, 232448});
}
inline cuda::DescribedDevice described_rtx_4090() {
  return described({"NVIDIA GeForce RTX 4090", 89, 25300000000, 75497472, 128, 2520000, 10501000, 1536, 24, 101376});
}
inline cuda::DescribedDevice described_a100() {
  return described({"NVIDIA A100-SXM4-80GB", 80, 85000000000, 41943040, 108, 1410000, 1593000, 2048, 32, 166912});
}
inline cuda::DescribedDevice described_rtx_5090() {
  return described({"NVIDIA GeForce RTX 5090", 120, 34000000000, 100663296, 170, 2407000, 14001000, 1536, 24, 101376});
}
inline cuda::DescribedDevice described_t4() {
  return described({"Tesla T4", 75, 15800000000, 4194304, 40, 1590000, 5001000, 1024, 16, 65536, 0});
}

// Those with every precision. A T4 lacks bf16 and tf32, and cuDNN's attention.
inline std::vector<cuda::DescribedDevice> described_gpus() {
  return {described_a100(), described_rtx_4090(), described_h100(), described_h200(), described_rtx_5090()};
}

}  // namespace epochbench::test
