// Convolutions, fused attention and products with GELU by cuDNN. Only the implementation includes cudnn_frontend, which
// compiles slowly, so this header uses none of its names.
#pragma once

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
void validate(const GeluProductSpec& spec, const DescribedDevice& device);
void validate(const ConvolutionSpec& spec, const DescribedDevice& device);
void validate(const AttentionSpec& spec, const DescribedDevice& device);  // both directions
// The engines that cuDNN offers for such a device, the heuristics' first choice first. Needs no device. Throws Error if none of
// them satisfies the rules of CudnnGraphs.
struct OfferedEngines {
  std::vector<std::string> names = {};
  std::string left_out = {};  // as Algorithms::left_out()
};
OfferedEngines engines(const GeluProductSpec& spec, const DescribedDevice& device);
OfferedEngines engines(const ConvolutionSpec& spec, const DescribedDevice& device);
struct AttentionEngines {
  OfferedEngines forward, backward;
  std::int64_t forward_bytes = 0, backward_bytes = 0;  // workspace that the graph uses in addition to the engine
};
AttentionEngines engines(const AttentionSpec& spec, const DescribedDevice& device);

class CudnnGraphs {
 public:
  struct State;  // the handle, and the plans that are in use

  CudnnGraphs();  // throws Error if cuDNN does not start
  ~CudnnGraphs();
  CudnnGraphs(const CudnnGraphs&) = delete;
  CudnnGraphs& operator=(const CudnnGraphs&) = delete;
  // The engines that fit the scratch, in the order of the heuristics; a tag is an engine with its knobs.
  std::unique_ptr<Algorithms<GeluProduct>> gelu_product(const GeluProductSpec& spec);
  std::unique_ptr<Algorithms<Convolution>> convolution(const ConvolutionSpec& spec);
  std::unique_ptr<Algorithms<AttentionForward>> attention_forward(const AttentionSpec& spec);
  std::unique_ptr<Algorithms<AttentionBackward>> attention_backward(const AttentionSpec& spec);

 private:
  std::shared_ptr<State> state_;
};

}  // namespace epochbench::cuda
