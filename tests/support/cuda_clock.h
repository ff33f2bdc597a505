// What the clock of the device shows to CUDA kernels that run on the CPU (kernels/cuda/device_clock.cuh).
#pragma once

#include <cstdint>

namespace epochbench::test {

void set_device_nanoseconds(std::uint64_t nanoseconds);  // to kernels of this thread; until then it is the host's clock

}  // namespace epochbench::test
