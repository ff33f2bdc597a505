#include "kernels/cuda/libraries/libraries.h"

#include <cstdlib>

#include "kernels/cuda/libraries/cublas_product.h"
#include "kernels/cuda/libraries/cudnn_graphs.h"
#include "kernels/cuda/libraries/loaded_libraries.h"

namespace epochbench::cuda {
namespace {

// Each library starts at its first use, so that a model without convolutions loads no cuDNN engine.
class LoadedLibraries : public Libraries {
 public:
  std::unique_ptr<Product> product(const ProductSpec& spec, const Scratch& scratch, Stream stream) override {
    if (!products_) products_ = std::make_unique<CublasProducts>();
    return products_->make(spec, scratch, stream);
  }
  std::unique_ptr<Convolution> convolution(const ConvolutionSpec& spec, const Scratch& scratch, Stream stream,
                                           std::string& reason) override {
    return graphs().convolution(spec, scratch, stream, reason);
  }
  std::unique_ptr<Attention> attention(const AttentionSpec& spec, Stream, std::string& reason) override {
    return graphs().attention(spec, reason);
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
  return std::make_unique<LoadedLibraries>();
}

}  // namespace epochbench::cuda
