// Linked into the tests of our kernels that also run on a GPU: a launch on the CPU fails if it passes a pointer to memory that
// a GPU could not access.
#include "tests/support/cuda_kernel_sweep.h"

namespace epochbench::test {
namespace {

[[maybe_unused]] const PointerCheck before = set_pointer_check([](const void* pointer) {
  if (!DeviceMemory::holds(pointer)) ADD_FAILURE() << "a kernel got a pointer to host memory: use a DeviceBuffer";
});

}  // namespace
}  // namespace epochbench::test
