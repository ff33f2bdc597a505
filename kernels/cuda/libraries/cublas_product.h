// Matrix products by cuBLASLt.
#pragma once

#include <memory>

#include "kernels/cuda/libraries/libraries.h"

struct cublasLtContext;

namespace epochbench::cuda {

class CublasProducts {
 public:
  CublasProducts();  // throws Error if cuBLASLt does not start
  ~CublasProducts();
  CublasProducts(const CublasProducts&) = delete;
  CublasProducts& operator=(const CublasProducts&) = delete;
  // The algorithms that the heuristics list for these operands; a tag is the algorithm's description, byte by byte.
  std::unique_ptr<Algorithms<Product>> product(const ProductSpec& spec, const ProductOperands& operands);

 private:
  cublasLtContext* handle_ = nullptr;
};

}  // namespace epochbench::cuda
