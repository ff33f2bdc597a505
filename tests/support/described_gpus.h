// GPUs in the format of cuDNN 9 device descriptions, to query the engines that it offers for them without a GPU. The numbers
// are from NVIDIA's data sheets and the CUDA programming guide's tables for compute capabilities 7.5, 8.0, 8.9, 9.0 and 12.0.
#pragma once

#include <vector>

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

inline cuda::DescribedDevice described_h100() {
  return {90, R"({
    "deviceName": "NVIDIA H100 80GB HBM3", "cudaDeviceId": 0, "pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1,
    "deviceVer": 900, "driverVer": 13000, "totalGlobalMem": 85000000000, "l2CacheSize": 52428800,
    "multiProcessorCount": 132, "warpSize": 32, "smClockRateKHz": 1980000, "memClockRateKHz": 2619000,
    "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "maxThreadsPerBlock": 1024,
    "maxThreadsPerSM": 2048, "maxCtasPerSM": 32, "regsPerBlock": 65536, "maxRegistersPerSM": 65536,
    "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448, "reservedSharedMemoryPerBlock": 1024})"};
}

inline cuda::DescribedDevice described_rtx_4090() {
  return {89, R"({
    "deviceName": "NVIDIA GeForce RTX 4090", "cudaDeviceId": 0, "pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1,
    "deviceVer": 890, "driverVer": 13000, "totalGlobalMem": 25300000000, "l2CacheSize": 75497472,
    "multiProcessorCount": 128, "warpSize": 32, "smClockRateKHz": 2520000, "memClockRateKHz": 10501000,
    "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "maxThreadsPerBlock": 1024,
    "maxThreadsPerSM": 1536, "maxCtasPerSM": 24, "regsPerBlock": 65536, "maxRegistersPerSM": 65536,
    "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 101376, "reservedSharedMemoryPerBlock": 1024})"};
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

inline cuda::DescribedDevice described_rtx_5090() {
  return {120, R"({
    "deviceName": "NVIDIA GeForce RTX 5090", "cudaDeviceId": 0, "pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1,
    "deviceVer": 1200, "driverVer": 13000, "totalGlobalMem": 34000000000, "l2CacheSize": 100663296,
    "multiProcessorCount": 170, "warpSize": 32, "smClockRateKHz": 2407000, "memClockRateKHz": 14001000,
    "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "maxThreadsPerBlock": 1024,
    "maxThreadsPerSM": 1536, "maxCtasPerSM": 24, "regsPerBlock": 65536, "maxRegistersPerSM": 65536,
    "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 101376, "reservedSharedMemoryPerBlock": 1024})"};
}

inline cuda::DescribedDevice described_t4() {
  return {75, R"({
    "deviceName": "Tesla T4", "cudaDeviceId": 0, "pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1,
    "deviceVer": 750, "driverVer": 13000, "totalGlobalMem": 15800000000, "l2CacheSize": 4194304,
    "multiProcessorCount": 40, "warpSize": 32, "smClockRateKHz": 1590000, "memClockRateKHz": 5001000,
    "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "maxThreadsPerBlock": 1024,
    "maxThreadsPerSM": 1024, "maxCtasPerSM": 16, "regsPerBlock": 65536, "maxRegistersPerSM": 65536,
    "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 65536, "reservedSharedMemoryPerBlock": 0})"};
}

// Those with every precision. A T4 lacks bf16 and tf32, and cuDNN's attention.
inline std::vector<cuda::DescribedDevice> described_gpus() {
  return {described_a100(), described_rtx_4090(), described_h100(), described_h200(), described_rtx_5090()};
}

}  // namespace epochbench::test
