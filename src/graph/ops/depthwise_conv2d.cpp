// depthwise_conv2d in NHWC with weights [height, width, channels]: a convolution of each channel separately (Chollet 2017), and
// its two gradients.
#include "src/graph/ops/convolution.h"

namespace epochbench {
namespace {

Conv2dAttributes window_of(const Node& node) {
  const auto& a = std::get<DepthwiseConv2dAttributes>(node.attributes);
  require(a.extra >= 0, "extra padding must not be negative");
  return {.stride = a.stride, .padding = a.padding, .height = a.height, .width = a.width};
}

// The extent of the output along one axis.
std::int64_t out_extent(std::int64_t in, std::int64_t kernel, const Node& node) {
  return conv2d_extent(in + std::get<DepthwiseConv2dAttributes>(node.attributes).extra, kernel, window_of(node));
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
  return {{{x.shape[0], out_extent(x.shape[1], w[0], node), out_extent(x.shape[2], w[1], node), x.shape[3]}, x.dtype}};
}

std::vector<TensorDesc> infer_grad_input(const Graph& graph, const Node& node) {
  require_operands(graph, node, 3);
  const TensorDesc& dy = input(graph, node, 0);
  const Shape& w = input(graph, node, 1).shape;
  const Conv2dAttributes a = window_of(node);
  require(out_extent(a.height, w[0], node) == dy.shape[1] && out_extent(a.width, w[1], node) == dy.shape[2],
          "dy does not fit the input's size");
  return {{{dy.shape[0], a.height, a.width, dy.shape[3]}, dy.dtype}};
}

std::vector<TensorDesc> infer_grad_weight(const Graph& graph, const Node& node) {
  require_operands(graph, node, 4);
  const TensorDesc& dy = input(graph, node, 0);
  const Shape& x = input(graph, node, 1).shape;
  const Conv2dAttributes a = window_of(node);
  require(dy.shape[0] == x[0], "dy and input differ in batch");
  require(out_extent(x[1], a.height, node) == dy.shape[1] && out_extent(x[2], a.width, node) == dy.shape[2],
          "dy does not fit the input's size");
  return {{{a.height, a.width, x[3]}, dy.dtype}};
}

}  // namespace

const OpRule kDepthwiseConv2dRule{
    .infer = infer,
    .gradient =
        convolution_gradient<DepthwiseConv2dAttributes, Op::depthwise_conv2d_grad_input, Op::depthwise_conv2d_grad_weight, 0>,
    .flops = flops_of_convolution};
const OpRule kDepthwiseConv2dGradInputRule{.infer = infer_grad_input, .flops = flops_of_grad_input};
const OpRule kDepthwiseConv2dGradWeightRule{.infer = infer_grad_weight, .flops = flops_of_grad_weight};

}  // namespace epochbench
