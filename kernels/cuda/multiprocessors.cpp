// How many multiprocessors the current device has. The runtime is asked once per device and thread.
#include "kernels/cuda/error.h"

namespace epochbench::cuda {

int multiprocessors() {
  thread_local int of_device = -1, count = 0;
  int device = 0;
  check(cudaGetDevice(&device), "asking for the current device");
  if (device != of_device) {
    check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "asking for a device's multiprocessors");
    of_device = device;
  }
  return count;
}

}  // namespace epochbench::cuda
