#include "kernels/cuda/library_error.h"

namespace epochbench::cuda {

void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Error(std::string(what) + ": " + cublasLtGetStatusString(status));
}

void check(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  char details[512] = "";
  cudnnGetLastErrorString(details, sizeof details);
  throw Error(std::string(what) + ": " + cudnnGetErrorString(status) + (*details ? std::string(", ") + details : ""));
}

}  // namespace epochbench::cuda
