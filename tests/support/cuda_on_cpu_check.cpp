// Errors of launches where there is no CUDA runtime that could describe them. A program with one links kernels/cuda/error.cpp
// instead.
#include <string>

#include "kernels/cuda/error.h"

namespace epochbench::cuda {

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw Error(std::string(what) + ": error " + std::to_string(static_cast<int>(status)));
}

}  // namespace epochbench::cuda
