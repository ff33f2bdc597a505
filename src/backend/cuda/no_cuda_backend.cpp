// Replaces the CUDA backend in a build without the CUDA toolkit: states the reason.
#include "epochbench/backend.h"
#include "epochbench/gpu.h"

namespace epochbench {
namespace {

constexpr const char* kReason =
    "this build has no CUDA backend: install the CUDA toolkit (12.4 or later) and cuDNN 9, then build again (scripts/run)";

}  // namespace

std::unique_ptr<Backend> make_cuda_backend(int, const BackendOptions&) { throw DeviceError(kReason); }
std::unique_ptr<Backend> make_cuda_planner() { throw DeviceError(kReason); }
std::vector<GpuInfo> list_gpus() { return {}; }
void measure_gpu(GpuInfo&, int) { throw DeviceError(kReason); }

}  // namespace epochbench
