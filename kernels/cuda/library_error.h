// From the status codes of cuBLASLt and cuDNN to cuda::Error.
#pragma once

#include <cublasLt.h>
#include <cudnn.h>

#include "kernels/cuda/error.h"

namespace epochbench::cuda {

// Errors: Error "what: the library's words" where the status is no success.
void check(cublasStatus_t status, const char* what);
void check(cudnnStatus_t status, const char* what);

// cuDNN's words about a graph may be pages: the reason that each engine gives, each once, on one line.
std::string in_short(const std::string& message);

}  // namespace epochbench::cuda
