// GPUs in the format of cuDNN 9 device descriptions, to query the engines that it offers for them without a GPU. The numbers
// are from NVIDIA's data sheets and the CUDA programming guide's tables for compute capabilities 8.0 and 9.0.
#pragma once

#include "kernels/cuda/libraries/cudnn_graphs.h"

namespace epochbench::test {

inline cuda::DescribedDevice described_h200() {
  return {90, R"({
    "deviceName": "NVIDIA H200", "cudaDeviceId": 0, "pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1,
    "deviceVer": 900, "driverVer": 13000, "totalGlobalMem": 150000000000, "l2CacheSize": 62914560,
    "multiProcessorCount": 132, "warpSize": 32, "smClockRateKHz": 1980000, "memClockRateKHz": 3201000,
    "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "maxThreadsPerBlock": 1024,
    "maxThreadsPerSM": 2048, "maxCtasPerSM": 32, "regsPerBlock": 65536, "maxRegistersPerSM": 65536,
    "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448, "reservedSharedMemoryPerBlock": 1024})"};
}

inline cuda::DescribedDevice described_a100() {
  return {80, R"({
    "deviceName": "NVIDIA A100-SXM4-80GB", "cudaDeviceId": 0, "pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1,
    "deviceVer": 800, "driverVer": 13000, "totalGlobalMem": 85000000000, "l2CacheSize": 41943040,
    "multiProcessorCount": 108, "warpSize": 32, "smClockRateKHz": 1410000, "memClockRateKHz": 1593000,
    "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "maxThreadsPerBlock": 1024,
    "maxThreadsPerSM": 2048, "maxCtasPerSM": 32, "regsPerBlock": 65536, "maxRegistersPerSM": 65536,
    "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 166912, "reservedSharedMemoryPerBlock": 1024})"};
}

}  // namespace epochbench::test
