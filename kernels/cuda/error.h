// From CUDA's status codes to cuda::Error.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/cuda/kernels.h"

namespace epochbench::cuda {

// Errors: Error "what: CUDA's words" where the status is no success.
void check(cudaError_t status, const char* what);

}  // namespace epochbench::cuda
