#include "kernels/cuda/libraries/libraries.h"

#include <cstdlib>

#include "kernels/cuda/libraries/cublas_product.h"
#include "kernels/cuda/libraries/cudnn_graphs.h"
#include "kernels/cuda/libraries/loaded_libraries.h"

namespace epochbench::cuda {
namespace {

// Each library starts at its first use, so that a model without convolutions loads no cuDNN engine.
class RealLibraries : public Libraries {
 public:
  LibraryVersions versions() const override { return library_versions(); }
  std::unique_ptr<Algorithms<Product>> product(const ProductSpec& spec, const ProductOperands& operands) override {
    if (!products_) products_ = std::make_unique<CublasProducts>();
    return products_->product(spec, operands);
  }
  std::unique_ptr<Algorithms<GeluProduct>> gelu_product(const GeluProductSpec& spec) override {
    return graphs().gelu_product(spec);
  }
  std::unique_ptr<Algorithms<Convolution>> convolution(const ConvolutionSpec& spec) override {
    return graphs().convolution(spec);
  }
  std::unique_ptr<Algorithms<AttentionForward>> attention_forward(const AttentionSpec& spec) override {
    return graphs().attention_forward(spec);
  }
  std::unique_ptr<Algorithms<AttentionBackward>> attention_backward(const AttentionSpec& spec) override {
    return graphs().attention_backward(spec);
  }

 private:
  CudnnGraphs& graphs() {
    if (!graphs_) graphs_ = std::make_unique<CudnnGraphs>();
    return *graphs_;
  }
  std::unique_ptr<CublasProducts> products_;
  std::unique_ptr<CudnnGraphs> graphs_;
};

}  // namespace

std::unique_ptr<Libraries> make_libraries() {
  // Each of these would change what fp32 or tf32 means in a result.
  for (const char* variable : {"NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATE_SINGLE_PRECISION", "CUBLAS_EMULATE_DOUBLE_PRECISION",
                               "CUBLAS_EMULATION_STRATEGY", "CUBLAS_FIXEDPOINT_EMULATION_MANTISSA_BIT_COUNT"})
    unsetenv(variable);
  load_libraries();
  return std::make_unique<RealLibraries>();
}

}  // namespace epochbench::cuda
