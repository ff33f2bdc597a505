// Convolutions and fused attention by cuDNN. Only the implementation includes cudnn_frontend, which compiles slowly, so this
// header uses none of its names.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/libraries/libraries.h"

namespace epochbench::cuda {

// A device in cuDNN's own description (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION): enough to plan for a device that is not
// present.
struct DescribedDevice {
  int compute_capability = 0;  // for example 90
  std::string json;
};
// Builds the graphs that a plan would use and lets cudnn_frontend validate them; needs no device. Throws Error.
void validate(const ConvolutionSpec& spec, const DescribedDevice& device);
void validate(const AttentionSpec& spec, const DescribedDevice& device);  // both directions
// The engines that cuDNN offers for such a device, the heuristics' first choice first. Needs no device. Throws Error if none of
// them satisfies the rules of CudnnGraphs.
std::vector<std::string> engines(const ConvolutionSpec& spec, const DescribedDevice& device);
struct AttentionEngines {
  std::vector<std::string> forward, backward;
  std::int64_t forward_bytes = 0, backward_bytes = 0;  // workspace that the graph uses in addition to the engine
};
AttentionEngines engines(const AttentionSpec& spec, const DescribedDevice& device);

class CudnnGraphs {
 public:
  CudnnGraphs();  // throws Error if cuDNN does not start
  ~CudnnGraphs();
  CudnnGraphs(const CudnnGraphs&) = delete;
  CudnnGraphs& operator=(const CudnnGraphs&) = delete;
  std::unique_ptr<Convolution> convolution(const ConvolutionSpec& spec, const Scratch& scratch, Stream stream,
                                           std::string& reason);
  std::unique_ptr<Attention> attention(const AttentionSpec& spec, std::string& reason);

 private:
  struct State;  // the handle, and the plans of earlier layers
  std::unique_ptr<State> state_;
};

}  // namespace epochbench::cuda
