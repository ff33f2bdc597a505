// conv2d in NHWC with weights [out_channels, height, width, in_channels], its two gradients, and its composites with bias and
// with the batch norm next to it.
#include "src/graph/ops/convolution.h"

namespace epochbench {

std::int64_t conv2d_extent(std::int64_t in, std::int64_t kernel, const Conv2dAttributes& a) {
  require(a.stride >= 1 && a.padding >= 0, "stride must be at least 1 and padding at least 0");
  require(in + 2 * a.padding >= kernel, "the kernel is larger than the padded input");
  return (in + 2 * a.padding - kernel) / a.stride + 1;
}

namespace {

void require_one_type(const Graph& graph, const Node& node) {
  require_float(input(graph, node, 0));
  require(input(graph, node, 0).dtype == input(graph, node, 1).dtype, "the operands differ in type");
}

std::vector<TensorDesc> infer_convolution(const Graph& graph, const Node& node, const Conv2dAttributes& a) {
  const TensorDesc& x = input(graph, node, 0);
  const Shape& w = input(graph, node, 1).shape;
  require(x.shape.size() == 4 && w.size() == 4, "input and weight must have four dimensions");
  require(x.shape[3] == w[3], "input and weight differ in channels");
  require_one_type(graph, node);
  return {{{x.shape[0], conv2d_extent(x.shape[1], w[1], a), conv2d_extent(x.shape[2], w[2], a), w[0]}, x.dtype}};
}

std::vector<TensorDesc> infer(const Graph& graph, const Node& node) {
  return infer_convolution(graph, node, std::get<Conv2dAttributes>(node.attributes));
}

std::vector<TensorDesc> infer_bias(const Graph& graph, const Node& node) {
  auto outputs = infer_convolution(graph, node, std::get<Conv2dBiasAttributes>(node.attributes).conv2d);
  require(input(graph, node, 2) == TensorDesc{{outputs[0].shape[3]}, outputs[0].dtype},
          "bias must be [out_channels], of the input's type");
  return outputs;
}

std::vector<TensorDesc> infer_grad_input(const Graph& graph, const Node& node) {
  const auto& a = std::get<Conv2dAttributes>(node.attributes);
  const Shape &dy = input(graph, node, 0).shape, &w = input(graph, node, 1).shape;
  require(dy.size() == 4 && w.size() == 4 && dy[3] == w[0], "dy and weight differ in channels");
  require(conv2d_extent(a.height, w[1], a) == dy[1] && conv2d_extent(a.width, w[2], a) == dy[2],
          "dy does not fit the input's size");
  require_one_type(graph, node);
  return {{{dy[0], a.height, a.width, w[3]}, input(graph, node, 0).dtype}};
}

std::vector<TensorDesc> infer_grad_weight(const Graph& graph, const Node& node) {
  const auto& a = std::get<Conv2dAttributes>(node.attributes);
  const Shape &dy = input(graph, node, 0).shape, &x = input(graph, node, 1).shape;
  require(dy.size() == 4 && x.size() == 4 && dy[0] == x[0], "dy and input differ in batch");
  require(conv2d_extent(x[1], a.height, a) == dy[1] && conv2d_extent(x[2], a.width, a) == dy[2],
          "dy does not fit the input's size");
  require_one_type(graph, node);
  return {{{dy[3], a.height, a.width, x[3]}, input(graph, node, 0).dtype}};
}

std::vector<TensorDesc> infer_part(const Graph& graph, const Node& composite, std::size_t part) {
  return rule(composite.parts.at(part).op).infer(graph, composite.parts[part]);
}

std::vector<TensorDesc> infer_batch_norm(const Graph& graph, const Node& node) {
  auto outputs = infer_part(graph, node, 1);
  outputs.push_back(infer_part(graph, node, 0)[0]);
  return outputs;
}
std::vector<int> running_statistics(const Node&) { return {4, 5}; }

// The gradient of the norm's shortcut is not an output.
std::vector<TensorDesc> infer_batch_norm_grad(const Graph& graph, const Node& node) {
  auto outputs = infer_part(graph, node, 1);
  outputs.pop_back();
  return outputs;
}

// The norm passes over the tensor between the two again: forward it reads an output, in the gradient it reads what was written.
template <int kPasses>
double bytes_with_norm(const Graph& graph, const Node& node) {
  return operand_bytes(graph, node) + kPasses * static_cast<double>(graph.desc(node.parts.at(1).inputs[0]).bytes());
}

}  // namespace

const OpRule kConv2dRule{.infer = infer,
                         .gradient = convolution_gradient<Conv2dAttributes, Op::conv2d_grad_input, Op::conv2d_grad_weight, 1>,
                         .flops = flops_of_convolution,
                         .bytes = product_bytes};
const OpRule kConv2dGradInputRule{.infer = infer_grad_input, .flops = flops_of_grad_input};
const OpRule kConv2dGradWeightRule{.infer = infer_grad_weight, .flops = flops_of_grad_weight};
const OpRule kConv2dBiasRule{.infer = infer_bias, .bytes = product_bytes};
const OpRule kConv2dBatchNormRule{.infer = infer_batch_norm, .bytes = bytes_with_norm<1>, .updated_inputs = running_statistics};
const OpRule kConv2dBatchNormGradRule{.infer = infer_batch_norm_grad, .bytes = bytes_with_norm<2>};

}  // namespace epochbench
