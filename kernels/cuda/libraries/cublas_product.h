// Matrix products by cuBLASLt, each with the fastest of several algorithms.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "kernels/cuda/libraries/libraries.h"

struct cublasLtContext;

namespace epochbench::cuda {

struct CublasChoice;  // an algorithm and its name

class CublasProducts {
 public:
  CublasProducts();  // throws Error if cuBLASLt does not start
  ~CublasProducts();
  CublasProducts(const CublasProducts&) = delete;
  CublasProducts& operator=(const CublasProducts&) = delete;
  std::unique_ptr<Product> make(const ProductSpec& spec, const Scratch& scratch, Stream stream);

 private:
  cublasLtContext* handle_ = nullptr;
  std::map<std::string, std::shared_ptr<const CublasChoice>> choices_;  // by product and alignment of its operands
};

}  // namespace epochbench::cuda
