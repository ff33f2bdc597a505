// Measures how long the compute stream of a rank waits for exchanges between ranks. Events in a captured step would not work:
// its next launch would record them again before anyone reads them.
#include "kernels/cuda/device_clock.cuh"
#include "kernels/cuda/exchange.h"

namespace epochbench::cuda {
namespace {

__global__ void __launch_bounds__(1) begin_waiting_kernel(Waiting* waiting) { waiting->since = device_nanoseconds(); }

__global__ void __launch_bounds__(1) end_waiting_kernel(Waiting* waiting) {
  waiting->nanoseconds += device_nanoseconds() - waiting->since;
}

__global__ void __launch_bounds__(1)
    record_waiting_kernel(float* ring, const std::uint32_t* cursor, std::uint32_t capacity, Waiting* waiting) {
  constexpr float kSeconds = 1e-9f;
  ring[*cursor % capacity] = static_cast<float>(waiting->nanoseconds) * kSeconds;
  waiting->nanoseconds = 0;
}

template <typename... Parameters, typename... Arguments>
void launch_one(void (*kernel)(Parameters...), Stream stream, Arguments... arguments) {
  launch(kernel, dim3(1), dim3(1), 0, stream, arguments...);
}

}  // namespace

void begin_waiting(Waiting* waiting, Stream stream) { launch_one(begin_waiting_kernel, stream, waiting); }
void end_waiting(Waiting* waiting, Stream stream) { launch_one(end_waiting_kernel, stream, waiting); }
void record_waiting(float* ring, const std::uint32_t* cursor, std::uint32_t capacity, Waiting* waiting, Stream stream) {
  launch_one(record_waiting_kernel, stream, ring, cursor, capacity, waiting);
}

}  // namespace epochbench::cuda
