// scale_channels: the last step of squeeze-and-excitation (Hu et al. 2018), which multiplies the channels of each image by its
// own factors; and the composite for the gradient of x.
#include "src/graph/op_rule.h"

namespace epochbench {
namespace {

std::vector<TensorDesc> infer(const Graph& graph, const Node& node) {
  const TensorDesc &x = input(graph, node, 0), &scale = input(graph, node, 1);
  require(x.shape.size() == 4, "the input must have four dimensions");
  require(scale == TensorDesc{{x.shape[0], x.shape[3]}, x.dtype}, "scale must be [batch, channels], of the input's type");
  return like_first_input(graph, node);
}

std::vector<TensorDesc> infer_grad(const Graph& graph, const Node& node) {
  const TensorDesc& dy = input(graph, node, 0);
  require(dy.shape.size() == 4 && dy == input(graph, node, 1), "dy and the input differ in shape or type");
  require_float(dy);
  return {{{dy.shape[0], dy.shape[3]}, dy.dtype}};
}

std::vector<TensorDesc> infer_squeeze_excite_grad(const Graph& graph, const Node& node) {
  const TensorDesc &dy = input(graph, node, 0), &scale = input(graph, node, 1);
  require(input(graph, node, 2) == scale, "scale and dmean differ in shape or type");
  if (node.inputs.size() > 3) require(input(graph, node, 3) == dy, "dy and x differ in shape or type");
  return infer(graph, node);
}

void gradient(GradientBuilder& builder, const Node& node) {
  const ValueId x = node.inputs[0], scale = node.inputs[1], dy = builder.gradient(node.outputs[0]);
  if (builder.needed(scale)) builder.accumulate(scale, builder.append(Op::scale_channels_grad, {}, {dy, x}, node)[0]);
  if (builder.needed(x)) builder.accumulate(x, builder.append(Op::scale_channels, {}, {dy, scale}, node)[0]);
}

}  // namespace

const OpRule kScaleChannelsRule{.infer = infer, .gradient = gradient, .in_place_inputs = {0}};
const OpRule kScaleChannelsGradRule{.infer = infer_grad};
const OpRule kSqueezeExciteGradRule{.infer = infer_squeeze_excite_grad, .in_place_inputs = {0}};

}  // namespace epochbench
