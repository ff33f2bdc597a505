// The message about a GPU that cannot be used.
#include "src/backend/cuda/cuda_usability.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "src/backend/host/nvidia_device.h"

namespace epochbench::cuda {
namespace {

using Status = RuntimeState::Status;

TEST(CudaUsability, NoDriver) {
  EXPECT_EQ(why_unusable({Status::insufficient_driver, "", 0, 13000, 0, {}}, 0),
            "there is an NVIDIA GPU but no driver for it (libcuda.so.1): install one that supports CUDA 13.0");
}

TEST(CudaUsability, NothingIsToBeInstalledWhereThereIsNoGpu) {
  RuntimeState state{Status::insufficient_driver, "", 0, 13000, 0, {}};
  state.nvidia_device = false;
  EXPECT_EQ(why_unusable(state, 0), kNoNvidiaDevice);
  EXPECT_EQ(std::string(kNoNvidiaDevice).find("install"), std::string::npos);
  state.driver_version = 11080;
  EXPECT_NE(why_unusable(state, 0)->find("too old"), std::string::npos) << "a driver knows better than a look at devices";
}

TEST(NvidiaDevice, IsFoundByItsDriverOrByItsVendor) {
  const std::filesystem::path root = std::filesystem::path(testing::TempDir()) / "nvidia_device";
  const std::filesystem::path pci = root / "sys/bus/pci/devices";
  const auto device = [&](const char* address, const char* vendor) {
    std::filesystem::create_directories(pci / address);
    std::ofstream(pci / address / "vendor") << vendor << "\n";
  };
  std::filesystem::remove_all(root);
  EXPECT_FALSE(has_nvidia_device(root.string())) << "without /dev and /sys";
  device("0000:00:00.0", "0x8086");
  std::filesystem::create_directories(root / "dev/shm");
  EXPECT_FALSE(has_nvidia_device(root.string()));
  device("0000:65:00.0", "0x10de");
  EXPECT_TRUE(has_nvidia_device(root.string()));
  std::filesystem::remove_all(root / "sys");
  EXPECT_FALSE(has_nvidia_device(root.string()));
  for (const char* node : {"nvidiactl", "dxg", "nvhost-ctrl-gpu", "nvmap"}) {
    std::ofstream(root / "dev" / node) << "";
    EXPECT_TRUE(has_nvidia_device(root.string())) << node;
    std::filesystem::remove(root / "dev" / node);
  }
  EXPECT_FALSE(has_nvidia_device(root.string()));
  std::filesystem::remove_all(root);
}

TEST(CudaUsability, OldDriverIsReportedWithBothVersions) {
  EXPECT_EQ(why_unusable({Status::insufficient_driver, "", 11080, 12040, 0, {}}, 0),
            "the NVIDIA driver is too old: it supports CUDA 11.8, and this build needs CUDA 12.4: update the driver, or build "
            "with an older toolkit");
}

TEST(CudaUsability, NoGpuAndNoVisibleGpuDiffer) {
  EXPECT_EQ(why_unusable({Status::no_device, "", 13000, 13000, 0, {}}, 0), "the NVIDIA driver finds no GPU");
  EXPECT_EQ(why_unusable({Status::no_device, "", 13000, 13000, 0, "-1"}, 0),
            "no NVIDIA GPU is visible: CUDA_VISIBLE_DEVICES is \"-1\"");
  EXPECT_EQ(why_unusable({Status::ready, "", 13000, 13000, 0, {}}, 0), "the NVIDIA driver finds no GPU");
}

TEST(CudaUsability, WhateverElseCudaSays) {
  EXPECT_EQ(why_unusable({Status::failed, "initialization error", 13000, 13000, 0, {}}, 0),
            "CUDA does not start: initialization error");
}

TEST(CudaUsability, IndicesOfVisibleGpus) {
  const RuntimeState one{Status::ready, "", 13000, 13000, 1, {}}, two{Status::ready, "", 13000, 13000, 2, {}};
  EXPECT_FALSE(why_unusable(one, 0));
  EXPECT_FALSE(why_unusable(two, 1));
  EXPECT_EQ(why_unusable(one, 1), "there is no cuda:1: the one GPU that is visible is cuda:0");
  EXPECT_EQ(why_unusable(two, 2), "there is no cuda:2: the GPUs that are visible are cuda:0 to cuda:1");
  EXPECT_TRUE(why_unusable(two, -1));
}

TEST(CudaUsability, TheVariableThatHidesGpusIsNamed) {
  RuntimeState one{Status::ready, "", 13000, 13000, 1, "GPU-8f2a7c11-0000-0000-0000-000000000000"};
  EXPECT_EQ(why_unusable(one, 1),
            "there is no cuda:1: the one GPU that is visible is cuda:0; CUDA_VISIBLE_DEVICES is "
            "\"GPU-8f2a7c11-0000-0000-0000-000000000000\"");
  EXPECT_FALSE(why_unusable(one, 0));
  one.visible_devices = "MIG-1,MIG-2";
  EXPECT_EQ(
      why_unusable(one, 1),
      "there is no cuda:1: the one GPU that is visible is cuda:0; CUDA_VISIBLE_DEVICES is \"MIG-1,MIG-2\", and CUDA shows "
      "a process only one instance (MIG): use one call for each");
}

TEST(CudaUsability, ComputeCapability) {
  const std::vector<std::string> all{"75-real", "80-real", "90-real", "120-real", "120-virtual"}, one{"90-real"};
  EXPECT_EQ(why_unusable(DeviceProperties{"Tesla V100", 70, 0}, 0, all),
            "cuda:0 (Tesla V100, compute capability 7.0) is too old: compute capability 7.5 or later is needed, since CUDA 13 "
            "and current versions of cuDNN support no older one");
  EXPECT_FALSE(why_unusable(DeviceProperties{"T4", 75, 0}, 0, all));
  EXPECT_FALSE(why_unusable(DeviceProperties{"H100", 90, 0}, 0, one));
  EXPECT_EQ(why_unusable(DeviceProperties{"A100", 80, 0}, 3, one),
            "this build has no code for cuda:3 (A100, compute capability 8.0), only for compute capability 9.0: build on this "
            "machine with scripts/run, or for all GPUs with EPOCHBENCH_KERNELS=all");
  EXPECT_TRUE(why_unusable(DeviceProperties{"B200", 100, 0}, 0, one)) << "machine code is for one major version";
}

}  // namespace
}  // namespace epochbench::cuda
