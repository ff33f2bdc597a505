// Max pooling, which keeps the position of the maximum in its window, the mean over windows, and the mean over all pixels.
#include "src/graph/op_rule.h"

namespace epochbench {
namespace {

std::int64_t out_extent(std::int64_t in, const PoolAttributes& a) {
  require(a.window >= 1 && a.window * a.window <= 256 && a.stride >= 1, "window must be 1 to 16 and stride at least 1");
  require(a.extra >= 0, "extra padding must not be negative");
  require(a.zeros || (a.padding >= 0 && a.padding + a.extra < a.window), "padding must be smaller than the window");
  const std::int64_t padded = in + 2 * a.padding + a.extra;
  require(padded >= a.window, "the window is larger than the padded input");
  return (padded - a.window) / a.stride + 1;
}

// The description of means or maxima over windows.
TensorDesc windows_desc(const Graph& graph, const Node& node) {
  const TensorDesc& x = input(graph, node, 0);
  const auto& a = std::get<PoolAttributes>(node.attributes);
  require(x.shape.size() == 4, "input must have four dimensions");
  return {{x.shape[0], out_extent(x.shape[1], a), out_extent(x.shape[2], a), x.shape[3]}, x.dtype};
}

std::vector<TensorDesc> infer_max(const Graph& graph, const Node& node) {
  const TensorDesc y = windows_desc(graph, node);
  return {y, {y.shape, DType::u8}};
}

std::vector<TensorDesc> infer_windows_grad(const Graph& graph, const Node& node) {
  const TensorDesc& dy = input(graph, node, 0);
  const auto& a = std::get<PoolAttributes>(node.attributes);
  require(dy.shape.size() == 4, "dy must have four dimensions");
  require(out_extent(a.height, a) == dy.shape[1] && out_extent(a.width, a) == dy.shape[2], "dy does not fit the input's size");
  return {{{dy.shape[0], a.height, a.width, dy.shape[3]}, dy.dtype}};
}

std::vector<TensorDesc> infer_max_grad(const Graph& graph, const Node& node) {
  require(input(graph, node, 0).shape == input(graph, node, 1).shape, "dy and index differ in shape");
  return infer_windows_grad(graph, node);
}

// Adds the size of the input to the attributes.
PoolAttributes gradient_attributes(const GradientBuilder& builder, const Node& node, PoolAttributes attributes) {
  const Shape& x = builder.graph().desc(node.inputs[0]).shape;
  attributes.height = x[1];
  attributes.width = x[2];
  return attributes;
}

void gradient_max(GradientBuilder& builder, const Node& node) {
  const PoolAttributes attributes = gradient_attributes(builder, node, std::get<PoolAttributes>(node.attributes));
  accumulate_first(builder, node, Op::max_pool_grad, attributes, {node.outputs[1]});
}

std::vector<TensorDesc> infer_window_average(const Graph& graph, const Node& node) {
  const TensorDesc y = windows_desc(graph, node);
  require_float(y);
  return {y};
}

void gradient_window_average(GradientBuilder& builder, const Node& node) {
  const PoolAttributes attributes = gradient_attributes(builder, node, std::get<PoolAttributes>(node.attributes));
  accumulate_first(builder, node, Op::average_pool_grad, attributes, {});
}

std::vector<TensorDesc> infer_average(const Graph& graph, const Node& node) {
  const TensorDesc& x = input(graph, node, 0);
  require(x.shape.size() == 4, "input must have four dimensions");
  return {{{x.shape[0], x.shape[3]}, x.dtype}};
}

std::vector<TensorDesc> infer_average_grad(const Graph& graph, const Node& node) {
  const TensorDesc& dy = input(graph, node, 0);
  const auto& a = std::get<PoolAttributes>(node.attributes);
  require(dy.shape.size() == 2 && a.height >= 1 && a.width >= 1, "dy must be [batch, channels]");
  return {{{dy.shape[0], a.height, a.width, dy.shape[1]}, dy.dtype}};
}

void gradient_average(GradientBuilder& builder, const Node& node) {
  accumulate_first(builder, node, Op::global_average_pool_grad, gradient_attributes(builder, node, {}), {});
}

}  // namespace

const OpRule kMaxPoolRule{.infer = infer_max, .gradient = gradient_max};
const OpRule kMaxPoolGradRule{.infer = infer_max_grad};
const OpRule kAveragePoolRule{.infer = infer_window_average, .gradient = gradient_window_average};
const OpRule kAveragePoolGradRule{.infer = infer_windows_grad};
const OpRule kGlobalAveragePoolRule{.infer = infer_average, .gradient = gradient_average};
const OpRule kGlobalAveragePoolGradRule{.infer = infer_average_grad};

}  // namespace epochbench
