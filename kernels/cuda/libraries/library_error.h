// Converts status codes of cuBLASLt and cuDNN to cuda::Error.
#pragma once

#include <cublasLt.h>
#include <cudnn.h>

#include "kernels/cuda/error.h"

namespace epochbench::cuda {

// Throws Error "what: the library's message" unless the status is success.
void check(cublasStatus_t status, const char* what);
void check(cudnnStatus_t status, const char* what);

// cuDNN's messages about a graph can be pages long: this keeps the distinct reasons of the engines, on one line.
std::string short_message(const std::string& message);

}  // namespace epochbench::cuda
