// Convolutions and fused attention by cuDNN. Its implementation is the one file that includes cudnn_frontend, which takes
// long to compile; so this header names nothing of it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/libraries.h"

namespace epochbench::cuda {

// A device as cuDNN writes it down (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION): enough to plan for one that is not here.
struct DescribedDevice {
  int compute_capability = 0;  // 90
  std::string json;
};
// Builds the graphs that a plan would be made of and lets cudnn_frontend check them; needs no device. Errors: Error.
void validate(const ConvolutionSpec& spec, const DescribedDevice& device);
void validate(const AttentionSpec& spec, const DescribedDevice& device);  // both directions
// The engines that such a device would be offered, the heuristics' first choice first. Needs no device. Errors: Error where
// none of them keeps the rules that hold for CudnnGraphs.
std::vector<std::string> engines(const ConvolutionSpec& spec, const DescribedDevice& device);
struct AttentionEngines {
  std::vector<std::string> forward, backward;
  std::int64_t forward_bytes = 0, backward_bytes = 0;  // of the workspace, that the graph keeps beside the engine
};
AttentionEngines engines(const AttentionSpec& spec, const DescribedDevice& device);

class CudnnGraphs {
 public:
  CudnnGraphs();  // errors: Error where cuDNN does not start
  ~CudnnGraphs();
  CudnnGraphs(const CudnnGraphs&) = delete;
  CudnnGraphs& operator=(const CudnnGraphs&) = delete;
  std::unique_ptr<Convolution> convolution(const ConvolutionSpec& spec, const Scratch& scratch, Stream stream,
                                           std::string& reason);
  std::unique_ptr<Attention> attention(const AttentionSpec& spec, std::string& reason);

 private:
  struct State;  // the handle, and the plans of layers met before
  std::unique_ptr<State> state_;
};

}  // namespace epochbench::cuda
