// Memory for kernels that run on a GPU: host and device access it, and launches are synchronous, so a test reads results as if
// the kernels had run on the CPU. Without a GPU every test is skipped with the reason.
#include <cstdlib>
#include <new>

#include <cuda_runtime_api.h>

#include "tests/support/cuda_kernel_sweep.h"

namespace epochbench::test {

namespace {

class GpuOrSkip : public testing::Environment {
 public:
  void SetUp() override {
    int devices = 0;
    const cudaError_t status = cudaGetDeviceCount(&devices);
    if (status != cudaSuccess || devices == 0) GTEST_SKIP() << "no GPU: " << cudaGetErrorString(status);
  }
};

// Before main(), because the first CUDA call reads it.
[[maybe_unused]] const int launches_wait = setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
[[maybe_unused]] testing::Environment* const gpu_or_skip = testing::AddGlobalTestEnvironment(new GpuOrSkip);

}  // namespace

void* DeviceMemory::allocate(std::size_t bytes) {
  void* memory = nullptr;
  if (cudaMallocManaged(&memory, bytes) != cudaSuccess) throw std::bad_alloc();
  return memory;
}
void DeviceMemory::free(void* memory) noexcept { cudaFree(memory); }

bool on_gpu() { return true; }
void set_thread_order(ThreadOrder, std::uint64_t) {}

}  // namespace epochbench::test
