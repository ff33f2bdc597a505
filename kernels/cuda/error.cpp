#include "kernels/cuda/error.h"

namespace epochbench::cuda {

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // what the device gets over is told once
  throw Error(std::string(what) + ": " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")");
}

}  // namespace epochbench::cuda
