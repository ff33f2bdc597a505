// The CUDA backend of a build with CUDA: the real device and libraries, or none of them for planning.
#include "src/backend/cuda/cuda_backend.h"

namespace epochbench {

std::unique_ptr<Backend> make_cuda_planner() { return make_cuda_backend(nullptr, nullptr); }

std::unique_ptr<Backend> make_cuda_backend(int index, const BackendOptions& options) {
  return make_cuda_backend(
      cuda::make_device(index), [] { return cuda::make_libraries(); }, options);
}

}  // namespace epochbench
