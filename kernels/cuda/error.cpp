#include "kernels/cuda/error.h"

namespace epochbench::cuda {

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // clear a recoverable error, so that it is reported only once
  throw Error(std::string(what) + ": " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")");
}

}  // namespace epochbench::cuda
