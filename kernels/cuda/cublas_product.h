// Matrix products by cuBLASLt, each with the fastest of several algorithms.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "kernels/cuda/libraries.h"

struct cublasLtContext;

namespace epochbench::cuda {

// "product c [256,1000] bf16 = a [256,2048] b [1000,2048]^T bf16 with bias and relu"
std::string describe(const ProductSpec& spec);

struct CublasChoice;  // an algorithm and its name

class CublasProducts {
 public:
  CublasProducts();  // errors: Error where cuBLASLt does not start
  ~CublasProducts();
  CublasProducts(const CublasProducts&) = delete;
  CublasProducts& operator=(const CublasProducts&) = delete;
  std::unique_ptr<Product> make(const ProductSpec& spec, const Scratch& scratch, Stream stream);

 private:
  cublasLtContext* handle_ = nullptr;
  std::map<std::string, std::shared_ptr<const CublasChoice>> choices_;  // by product and its operands' alignments
};

}  // namespace epochbench::cuda
