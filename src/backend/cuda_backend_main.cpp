// The CUDA backend of a build that has CUDA: the real device and libraries.
#include "src/backend/cuda_backend.h"

namespace epochbench {

std::unique_ptr<Backend> make_cuda_backend(int index) {
  return make_cuda_backend(cuda::make_device(index), [] { return cuda::make_libraries(); });
}

}  // namespace epochbench
