// Linked into the tests of our kernels that also run on a GPU: a launch on the CPU fails where it passes a pointer to other
// memory than a GPU could reach.
#include "tests/support/cuda_kernel_sweep.h"

namespace epochbench::test {
namespace {

[[maybe_unused]] const PointerCheck before = set_pointer_check([](const void* pointer) {
  if (!DeviceMemory::holds(pointer)) ADD_FAILURE() << "a kernel gets a pointer to memory of the host: use a DeviceBuffer";
});

}  // namespace
}  // namespace epochbench::test
