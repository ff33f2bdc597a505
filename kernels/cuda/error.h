// Converts CUDA status codes to cuda::Error.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/cuda/kernels.h"

namespace epochbench::cuda {

// Throws Error "what: CUDA's description" unless the status is success.
void check(cudaError_t status, const char* what);

}  // namespace epochbench::cuda
