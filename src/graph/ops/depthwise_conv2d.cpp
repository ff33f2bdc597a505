// depthwise_conv2d in NHWC with weights [height, width, channels]: a convolution of every channel by itself (Chollet 2017), and
// its two gradients.
#include "src/graph/op_rule.h"

namespace epochbench {
namespace {

Conv2dAttributes window_of(const Node& node) {
  const auto& a = std::get<DepthwiseConv2dAttributes>(node.attributes);
  return {.stride = a.stride, .padding = a.padding, .height = a.height, .width = a.width};
}

void require_operands(const Graph& graph, const Node& node, std::size_t second_dimensions) {
  const TensorDesc &first = input(graph, node, 0), &second = input(graph, node, 1);
  require(first.shape.size() == 4 && second.shape.size() == second_dimensions,
          "images must have four dimensions, and the weight three");
  require(first.shape[3] == second.shape.back(), "the operands differ in channels");
  require_float(first);
  require(first.dtype == second.dtype, "the operands differ in type");
}

std::vector<TensorDesc> infer(const Graph& graph, const Node& node) {
  require_operands(graph, node, 3);
  const TensorDesc& x = input(graph, node, 0);
  const Shape& w = input(graph, node, 1).shape;
  const Conv2dAttributes a = window_of(node);
  return {{{x.shape[0], conv2d_extent(x.shape[1], w[0], a), conv2d_extent(x.shape[2], w[1], a), x.shape[3]}, x.dtype}};
}

std::vector<TensorDesc> infer_grad_input(const Graph& graph, const Node& node) {
  require_operands(graph, node, 3);
  const TensorDesc& dy = input(graph, node, 0);
  const Shape& w = input(graph, node, 1).shape;
  const Conv2dAttributes a = window_of(node);
  require(conv2d_extent(a.height, w[0], a) == dy.shape[1] && conv2d_extent(a.width, w[1], a) == dy.shape[2],
          "dy does not fit the input's size");
  return {{{dy.shape[0], a.height, a.width, dy.shape[3]}, dy.dtype}};
}

std::vector<TensorDesc> infer_grad_weight(const Graph& graph, const Node& node) {
  require_operands(graph, node, 4);
  const TensorDesc& dy = input(graph, node, 0);
  const Shape& x = input(graph, node, 1).shape;
  const Conv2dAttributes a = window_of(node);
  require(dy.shape[0] == x[0], "dy and input differ in batch");
  require(conv2d_extent(x[1], a.height, a) == dy.shape[1] && conv2d_extent(x[2], a.width, a) == dy.shape[2],
          "dy does not fit the input's size");
  return {{{a.height, a.width, x[3]}, dy.dtype}};
}

// 2 * batch * out_height * out_width * |weight|, the same for the product and both of its gradients.
double product_flops(const Shape& y, const Shape& weight) {
  return 2.0 * static_cast<double>(y[0] * y[1] * y[2]) * static_cast<double>(element_count(weight));
}
double flops_forward(const Graph& graph, const Node& node) {
  return product_flops(graph.desc(node.outputs[0]).shape, input(graph, node, 1).shape);
}
double flops_grad_input(const Graph& graph, const Node& node) {
  return product_flops(input(graph, node, 0).shape, input(graph, node, 1).shape);
}
double flops_grad_weight(const Graph& graph, const Node& node) {
  return product_flops(input(graph, node, 0).shape, graph.desc(node.outputs[0]).shape);
}

void gradient(GradientBuilder& builder, const Node& node) {
  const ValueId x = node.inputs[0], weight = node.inputs[1], dy = builder.gradient(node.outputs[0]);
  const Shape x_shape = builder.graph().desc(x).shape, weight_shape = builder.graph().desc(weight).shape;
  auto attributes = std::get<DepthwiseConv2dAttributes>(node.attributes);
  if (builder.needed(weight)) {
    attributes.height = weight_shape[0];
    attributes.width = weight_shape[1];
    builder.accumulate(weight, builder.append(Op::depthwise_conv2d_grad_weight, attributes, {dy, x}, node)[0]);
  }
  if (builder.needed(x)) {
    attributes.height = x_shape[1];
    attributes.width = x_shape[2];
    builder.accumulate(x, builder.append(Op::depthwise_conv2d_grad_input, attributes, {dy, weight}, node)[0]);
  }
}

}  // namespace

const OpRule kDepthwiseConv2dRule{.infer = infer, .gradient = gradient, .flops = flops_forward};
const OpRule kDepthwiseConv2dGradInputRule{.infer = infer_grad_input, .flops = flops_grad_input};
const OpRule kDepthwiseConv2dGradWeightRule{.infer = infer_grad_weight, .flops = flops_grad_weight};

}  // namespace epochbench
