// The reason why a CUDA device is not usable here, from what the runtime reports before anything is allocated. Does not need
// CUDA.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/backend/cuda/cuda_device.h"

namespace epochbench::cuda {

struct RuntimeState {
  enum class Status : std::uint8_t { ready, insufficient_driver, no_device, failed };
  Status status = Status::ready;
  std::string message;                          // what CUDA says, if it failed
  int driver_version = 0, runtime_version = 0;  // 13000 for 13.0; the newest CUDA that the driver supports, 0 without one
  int devices = 0;                              // visible ones
  std::optional<std::string> visible_devices;   // CUDA_VISIBLE_DEVICES
  bool nvidia_device = true;                    // whether this machine has one, with or without a driver
};

inline constexpr int kMinCapability = 75;

std::string cuda_name(int index);            // "cuda:0"
std::string cuda_version_text(int version);  // 13000: "13.0"

std::optional<std::string> why_unusable(const RuntimeState& state, int index);
// gpu_code: the architectures that this build has code for (src/base/gpu_code.h).
std::optional<std::string> why_unusable(const DeviceProperties& device, int index, const std::vector<std::string>& gpu_code);

}  // namespace epochbench::cuda
