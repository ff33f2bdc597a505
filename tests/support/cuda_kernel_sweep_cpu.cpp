// Memory of the kernels that run on the CPU.
#include <new>

#include "tests/support/cuda_kernel_sweep.h"

namespace epochbench::test {

void* DeviceMemory::allocate(std::size_t bytes) { return HostMemory::allocate(bytes); }
void DeviceMemory::free(void* memory) noexcept { HostMemory::free(memory); }
bool on_gpu() { return false; }

}  // namespace epochbench::test
