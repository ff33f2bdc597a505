#include "src/backend/cuda/cuda_usability.h"

#include "src/backend/host/nvidia_device.h"
#include "src/base/gpu_code.h"

namespace epochbench::cuda {

std::string cuda_name(int index) { return "cuda:" + std::to_string(index); }

std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

namespace {

// What CUDA_VISIBLE_DEVICES has to do with the number of visible devices.
std::string of_variable(const RuntimeState& state) {
  if (!state.visible_devices) return "";
  const std::string& value = *state.visible_devices;
  const std::size_t first = value.find("MIG-");
  const bool several_instances = first != std::string::npos && value.find("MIG-", first + 1) != std::string::npos;
  return "; CUDA_VISIBLE_DEVICES is \"" + value + "\"" +
         (several_instances ? ", and CUDA shows a process only one instance (MIG): use one call for each" : "");
}

}  // namespace

std::optional<std::string> why_unusable(const RuntimeState& state, int index) {
  using Status = RuntimeState::Status;
  if (state.status == Status::insufficient_driver && state.driver_version == 0) {
    if (!state.nvidia_device) return kNoNvidiaDevice;
    return "there is an NVIDIA GPU but no driver for it (libcuda.so.1): install one that supports CUDA " +
           cuda_version_text(state.runtime_version);
  }
  if (state.status == Status::insufficient_driver)
    return "the NVIDIA driver is too old: it supports CUDA " + cuda_version_text(state.driver_version) +
           ", and this build needs CUDA " + cuda_version_text(state.runtime_version) +
           ": update the driver, or build with an older toolkit";
  if (state.status == Status::failed) return "CUDA does not start: " + state.message;
  if (state.status == Status::no_device || state.devices == 0)
    return state.visible_devices ? "no NVIDIA GPU is visible: CUDA_VISIBLE_DEVICES is \"" + *state.visible_devices + "\""
                                 : "the NVIDIA driver finds no GPU";
  if (index < 0 || index >= state.devices)
    return "there is no " + cuda_name(index) + ": " +
           (state.devices == 1 ? "the one GPU that is visible is cuda:0"
                               : "the GPUs that are visible are cuda:0 to " + cuda_name(state.devices - 1)) +
           of_variable(state);
  return std::nullopt;
}

std::optional<std::string> why_unusable(const DeviceProperties& device, int index, const std::vector<std::string>& gpu_code) {
  const std::string what =
      cuda_name(index) + " (" + device.name + ", compute capability " + capability_text(device.compute_capability) + ")";
  if (device.compute_capability < kMinCapability)
    return what + " is too old: compute capability " + capability_text(kMinCapability) +
           " or later is needed, since CUDA 13 and current versions of cuDNN support no older one";
  if (!has_gpu_code(gpu_code, device.compute_capability))
    return "this build has no code for " + what + ", only for " + gpu_code_text(gpu_code) +
           ": build on this machine with scripts/run, or for all GPUs with EPOCHBENCH_KERNELS=all";
  return std::nullopt;
}

}  // namespace epochbench::cuda
