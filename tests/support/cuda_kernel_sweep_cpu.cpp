// Memory of the kernels that run on the CPU.
#include <functional>
#include <map>

#include "tests/support/cuda_kernel_sweep.h"

namespace epochbench::test {

namespace {

std::map<const std::byte*, std::size_t, std::greater<>>& allocations() {
  static std::map<const std::byte*, std::size_t, std::greater<>> bytes_at;
  return bytes_at;
}

}  // namespace

void* DeviceMemory::allocate(std::size_t bytes) {
  void* const memory = HostMemory::allocate(bytes);
  allocations()[static_cast<std::byte*>(memory)] = bytes;
  return memory;
}

void DeviceMemory::free(void* memory) noexcept {
  allocations().erase(static_cast<std::byte*>(memory));
  HostMemory::free(memory);
}

bool DeviceMemory::holds(const void* address) {
  const auto* const byte = static_cast<const std::byte*>(address);
  const auto below = allocations().lower_bound(byte);  // the last block that begins at or before it
  return below != allocations().end() && byte < below->first + below->second;
}

bool on_gpu() { return false; }

}  // namespace epochbench::test
