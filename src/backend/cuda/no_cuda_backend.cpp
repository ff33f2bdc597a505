// Replaces the CUDA backend in a build without the CUDA toolkit: states the reason.
#include "epochbench/backend.h"
#include "epochbench/gpu.h"
#include "src/backend/host/nvidia_device.h"

namespace epochbench {
namespace {

constexpr const char* kNotBuilt =
    "this build has no CUDA backend: install the CUDA toolkit (12.4 or later) and cuDNN 9, then build again (scripts/run)";

std::string reason() { return has_nvidia_device() ? kNotBuilt : kNoNvidiaDevice; }

}  // namespace

std::unique_ptr<Backend> make_cuda_backend(int, const BackendOptions&, Communicator*) { throw DeviceError(reason()); }
std::unique_ptr<Backend> make_cuda_planner() { throw DeviceError(kNotBuilt); }
std::optional<std::string> gpu_ranks_obstacle() { return reason(); }
std::vector<GpuInfo> list_gpus() { return {}; }
MeasuredGpu measure_gpu(int) { throw DeviceError(reason()); }

}  // namespace epochbench
