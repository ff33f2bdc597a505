// Kernel sizes.
#include "src/backend/host/kernel_shapes.h"

#include <cmath>
#include <stdexcept>

namespace epochbench {

namespace {

GemmShape gemm_shape(const Shape& a, const Shape& c, const MatmulAttributes& attributes) {
  return {c[0], c[1], a[attributes.transpose_a ? 0 : 1], attributes.transpose_a, attributes.transpose_b};
}

Conv2dShape conv2d_shape(const Shape& x, const Shape& y, const Shape& weight, const Conv2dAttributes& a) {
  return {x[0], x[1], x[2], x[3], y[1], y[2], y[3], weight[1], weight[2], a.stride, a.padding};
}

}  // namespace

GemmShape gemm_shape(const Graph& graph, const Node& node) {
  const MatmulAttributes a =
      node.op == Op::linear ? attributes<LinearAttributes>(node).matmul : attributes<MatmulAttributes>(node);
  GemmShape s = gemm_shape(graph.desc(node.inputs[0]).shape, graph.desc(node.outputs[0]).shape, a);
  s.packed_b = weight_operand(node) > 1;
  return s;
}

GemmShape packed_gemm_shape(const PackWeightAttributes& a) { return gemm_shape(a.x, a.y, a.matmul); }

Conv2dShape conv2d_shape(const Graph& graph, const Node& node) {
  const bool grad_input = node.op == Op::conv2d_grad_input, grad_weight = node.op == Op::conv2d_grad_weight;
  const ValueId first = node.inputs[0], second = node.inputs[1], out = node.outputs[0];
  const Shape& x = graph.desc(grad_input ? out : grad_weight ? second : first).shape;
  const Shape& y = graph.desc(grad_input || grad_weight ? first : out).shape;
  const Shape& weight = graph.desc(grad_weight ? out : second).shape;
  const auto& a =
      node.op == Op::conv2d_bias ? attributes<Conv2dBiasAttributes>(node).conv2d : attributes<Conv2dAttributes>(node);
  Conv2dShape s = conv2d_shape(x, y, weight, a);
  s.packed_weight = weight_operand(node) > 1;
  return s;
}

Conv2dShape packed_conv2d_shape(const PackWeightAttributes& a, const Shape& weight) {
  return conv2d_shape(a.x, a.y, weight, a.conv2d);
}

Conv2dShape depthwise_conv2d_shape(const Graph& graph, const Node& node) {
  const bool grad_input = node.op == Op::depthwise_conv2d_grad_input, grad_weight = node.op == Op::depthwise_conv2d_grad_weight;
  const ValueId first = node.inputs[0], second = node.inputs[1], out = node.outputs[0];
  const Shape& x = graph.desc(grad_input ? out : grad_weight ? second : first).shape;
  const Shape& y = graph.desc(grad_input || grad_weight ? first : out).shape;
  const Shape& weight = graph.desc(grad_weight ? out : second).shape;
  const auto& a = attributes<DepthwiseConv2dAttributes>(node);
  return {x[0], x[1], x[2], x[3], y[1], y[2], y[3], weight[0], weight[1], a.stride, a.padding};
}

BatchNormReluAttributes batch_norm_attributes(const Node& norm) {
  if (const auto* fused = std::get_if<BatchNormReluAttributes>(&norm.attributes)) return *fused;
  return {attributes<BatchNormAttributes>(norm)};
}

Activation activation_of(const Node& node) {
  const auto* fused = std::get_if<BatchNormReluAttributes>(&node.attributes);
  return fused == nullptr ? Activation::none : fused->six ? Activation::relu6 : Activation::relu;
}

bool is_int8(const Graph& graph, const Node& node) {
  switch (node.op) {
    case Op::observe_range:
    case Op::int8_weights:
    case Op::quantize:
    case Op::linear_int8:
    case Op::conv2d_int8:
      return true;
    case Op::max_pool:
      return graph.desc(node.inputs[0]).dtype == DType::u8;
    default:
      return false;
  }
}

Conv2dShape int8_weights_shape(const Graph& graph, const Node& node) {
  const Shape& weight = graph.desc(node.inputs[0]).shape;
  Conv2dShape s{.channels = weight.back(), .out_channels = weight.front(), .kernel_height = 1, .kernel_width = 1};
  if (weight.size() == 4) {
    s.kernel_height = weight[1];
    s.kernel_width = weight[2];
  }
  return s;
}

Conv2dShape int8_product_shape(const Graph& graph, const Node& node) {
  const Shape &x = graph.desc(node.inputs[Int8Operands::kX]).shape, &y = graph.desc(node.outputs[0]).shape;
  if (node.op == Op::linear_int8) return {x[0], 1, 1, x[1], 1, 1, y[1], 1, 1, 1, 0};
  const auto& a = attributes<Int8ProductAttributes>(node).conv2d;
  return {x[0], x[1], x[2], x[3], y[1], y[2], y[3], a.height, a.width, a.stride, a.padding};
}

Targets targets_of(const Node& node) {
  const auto& a = attributes<CrossEntropyAttributes>(node);
  return {a.mean, static_cast<float>(a.smoothing)};
}

PoolShape pool_shape(const Graph& graph, const Node& node) {
  const bool gradient = node.op == Op::max_pool_grad || node.op == Op::average_pool_grad;
  const Shape& x = graph.desc(gradient ? node.outputs[0] : node.inputs[0]).shape;
  const Shape& y = graph.desc(gradient ? node.inputs[0] : node.outputs[0]).shape;
  const auto& a = attributes<PoolAttributes>(node);
  return {x[0], x[1], x[2], x[3], y[1], y[2], a.window, a.stride, a.padding, a.zeros};
}

bool is_attention_gradient(const Node& node) { return node.op == Op::attention_grad || node.op == Op::joint_attention_grad; }

AttentionShape attention_shape(const Graph& graph, const Node& node) {
  const auto& a = attributes<AttentionAttributes>(node);
  const bool joint = node.op == Op::joint_attention || node.op == Op::joint_attention_grad;
  const Shape& q = graph.desc(node.inputs[is_attention_gradient(node) ? 1 : 0]).shape;
  const std::int64_t heads = joint ? a.heads + 2 * (a.kv_heads > 0 ? a.kv_heads : a.heads) : a.heads;
  return {q[0] / a.sequence, a.sequence, a.heads, q[1] / heads, joint, a.causal, a.kv_heads};
}

RotaryShape rotary_shape(const Graph& graph, const Node& node) {
  const auto& a = attributes<RotaryAttributes>(node);
  const Shape &x = graph.desc(node.inputs[0]).shape, &table = graph.desc(node.inputs[1]).shape;
  return {x[0], x[1], table[0], table[1], a.heads, a.inverse};
}

SwigluShape swiglu_shape(const Graph& graph, const Node& node) {
  const bool gradient = node.op == Op::swiglu_grad || node.op == Op::joint_swiglu_grad;
  const bool joint = node.op == Op::joint_swiglu || node.op == Op::joint_swiglu_grad;
  const RowsChannels size = rows_channels(graph.desc(gradient ? node.inputs[0] : node.outputs[0]));
  return joint ? SwigluShape{size.rows, size.channels, true} : SwigluShape{1, size.rows * size.channels};
}

LstmShape lstm_shape(const Graph& graph, const Node& node) {
  const std::int64_t sequence = attributes<LstmAttributes>(node).sequence;
  return {graph.desc(node.inputs[0]).shape[0] / sequence, sequence, graph.desc(node.inputs[1]).shape[1]};
}

namespace {

double dropout_probability(const Node& node) {
  if (const auto* attention = std::get_if<AttentionAttributes>(&node.attributes)) return attention->dropout;
  if (const auto* norm = std::get_if<AddLayerNormAttributes>(&node.attributes)) return norm->dropout;
  return attributes<DropoutAttributes>(node).probability;
}

}  // namespace

Dropout dropout_of(const Node& node, std::uint64_t seed) {
  const double probability = dropout_probability(node);
  return {seed, static_cast<std::uint32_t>(node.ordinal), static_cast<std::uint32_t>(std::lround(probability * 0x1p32)),
          static_cast<float>(1 / (1 - probability))};
}

RowsChannels rows_channels(const TensorDesc& desc) {
  const std::int64_t channels = desc.shape.back();
  return {channels == 0 ? 0 : desc.elements() / channels, channels};
}

Element element_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return Element::f32;
    case DType::bf16:
      return Element::bf16;
    case DType::f16:
      return Element::f16;
    case DType::i32:
    case DType::u8:
    case DType::i8:
      break;
  }
  throw std::logic_error(std::string(name(dtype)) + " is not a float type");
}

}  // namespace epochbench
