// What the rules of conv2d and depthwise_conv2d share: FLOPs and gradients. Their weights differ in shape, not in how the
// extents of images and windows follow from each other.
#pragma once

#include "src/graph/op_rule.h"

namespace epochbench {

// 2 * batch * out_height * out_width * |weight|, the same for the product and both of its gradients.
inline double convolution_flops(const Shape& y, const Shape& weight) {
  return 2.0 * static_cast<double>(y[0] * y[1] * y[2]) * static_cast<double>(element_count(weight));
}
inline double flops_of_convolution(const Graph& graph, const Node& node) {
  return convolution_flops(graph.desc(node.outputs[0]).shape, input(graph, node, 1).shape);
}
inline double flops_of_grad_input(const Graph& graph, const Node& node) {
  return convolution_flops(input(graph, node, 0).shape, input(graph, node, 1).shape);
}
inline double flops_of_grad_weight(const Graph& graph, const Node& node) {
  return convolution_flops(input(graph, node, 0).shape, graph.desc(node.outputs[0]).shape);
}

// kHeight: which extent of the weight is its height; the width follows it.
template <typename WindowAttributes, Op kGradInput, Op kGradWeight, std::size_t kHeight>
void convolution_gradient(GradientBuilder& builder, const Node& node) {
  const ValueId x = node.inputs[0], weight = node.inputs[1], dy = builder.gradient(node.outputs[0]);
  const Shape x_shape = builder.graph().desc(x).shape, weight_shape = builder.graph().desc(weight).shape;
  auto attributes = std::get<WindowAttributes>(node.attributes);
  if (builder.needed(weight)) {
    attributes.height = weight_shape[kHeight];
    attributes.width = weight_shape[kHeight + 1];
    builder.accumulate(weight, builder.append(kGradWeight, attributes, {dy, x}, node)[0]);
  }
  if (builder.needed(x)) {
    attributes.height = x_shape[1];
    attributes.width = x_shape[2];
    builder.accumulate(x, builder.append(kGradInput, attributes, {dy, weight}, node)[0]);
  }
}

}  // namespace epochbench
