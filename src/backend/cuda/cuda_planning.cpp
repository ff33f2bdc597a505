// What is known about a node before compilation: whether a device can run it, the algorithm that it may use, and its scratch.
#include <algorithm>

#include "epochbench/precision.h"
#include "src/backend/cuda/cuda_nodes.h"
#include "src/backend/cuda/cuda_plans.h"
#include "src/base/gpu_code.h"

namespace epochbench {
namespace {

constexpr int kAmpere = 80;  // the first with bf16, tf32 and cuDNN's attention

}  // namespace

std::optional<std::string> cuda_unsupported(const Graph& graph, const Node& node, int compute_capability) {
  if (is_int8(graph, node))
    return std::string("the CUDA backend has no ") + name(Precision::int8) + " products; use " + name(Precision::fp16);
  // In float the sums would depend on the order of atomic additions, and cuDNN's Winograd engines have none.
  const bool with_norm = node.op == Op::conv2d_batch_norm || node.op == Op::conv2d_batch_norm_grad;
  const bool with_gelu = node.op == Op::linear_gelu || node.op == Op::matmul_gelu_grad;
  const bool in_float = graph.desc(node.inputs[0]).dtype == DType::f32 && (with_norm || !is_tf32(node.attributes));
  if ((with_norm || with_gelu) && (compute_capability < kAmpere || in_float))
    return std::string(name(node.op)) + " is run in parts, unless in 16 bits" + (with_gelu ? " or tf32" : "") +
           " on a GPU of compute capability " + capability_text(kAmpere) + " or higher";
  if (compute_capability >= kAmpere) return std::nullopt;
  const auto needs = [&](Precision precision, Precision other) {
    return std::string(name(precision)) + " needs a GPU of compute capability " + capability_text(kAmpere) +
           " or higher, and this one has " + capability_text(compute_capability) + "; use " + name(other);
  };
  for (const auto* values : {&node.inputs, &node.outputs})
    for (ValueId id : *values)
      if (graph.desc(id).dtype == DType::bf16) return needs(Precision::bf16, Precision::fp16);
  if (is_tf32(node.attributes)) return needs(Precision::tf32, Precision::fp32);
  return std::nullopt;
}

// cuDNN 9 has Winograd engines for 3x3 windows at stride 1 in float, before Hopper, except for the gradient of the weight; and
// attention in 16 bits since Ampere.
std::string cuda_algorithm(const Graph& graph, const Node& node, int compute_capability) {
  constexpr int kHopper = 90;
  const bool in_float = graph.desc(node.inputs[0]).dtype == DType::f32;
  if (std::holds_alternative<AttentionAttributes>(node.attributes))
    return !in_float && compute_capability >= kAmpere ? "library-attention" : "";
  const bool transformable = node.op == Op::conv2d || node.op == Op::conv2d_bias || node.op == Op::conv2d_grad_input;
  if (!transformable || compute_capability >= kHopper || !in_float) return "";
  const Conv2dShape s = conv2d_shape(graph, node);
  return s.kernel_height == 3 && s.kernel_width == 3 && s.stride == 1 ? "winograd" : "";
}

namespace {

// Whether all nodes that read the value are of these ops, and at least one does.
bool only_read_by(const Graph& graph, ValueId value, std::initializer_list<Op> ops) {
  for (const Output& output : graph.outputs)
    if (output.value == value) return false;
  bool read = false;
  for (const Node& node : graph.nodes) {
    if (std::find(node.inputs.begin(), node.inputs.end(), value) == node.inputs.end()) continue;
    if (std::find(ops.begin(), ops.end(), node.op) == ops.end()) return false;
    read = true;
  }
  return read;
}

const Node* producer_of(const Graph& graph, ValueId value) {
  for (const Node& node : graph.nodes)
    if (std::find(node.outputs.begin(), node.outputs.end(), value) != node.outputs.end()) return &node;
  return nullptr;
}

// Logits and their gradient have the same row length, as one may overwrite the other.
bool has_aligned_rows(const Graph& graph, ValueId value) {
  const Node* producer = producer_of(graph, value);
  const ValueId logits = producer && producer->op == Op::cross_entropy_grad ? producer->inputs[0] : value;
  producer = producer_of(graph, logits);
  if (!producer || (producer->op != Op::matmul && producer->op != Op::linear)) return false;
  if (!only_read_by(graph, logits, {Op::cross_entropy, Op::cross_entropy_grad, Op::count_correct})) return false;
  return std::all_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return node.op != Op::cross_entropy_grad || node.inputs[0] != logits ||
           only_read_by(graph, node.outputs[0], {Op::matmul, Op::linear_grad_weight, Op::bias_add_grad});
  });
}

}  // namespace

std::int64_t cuda_row_elements(const Graph& graph, ValueId value) {
  const TensorDesc& desc = graph.desc(value);
  const std::int64_t columns = desc.shape.empty() ? 1 : desc.shape.back();
  const auto vector = static_cast<std::int64_t>(16 / size_bytes(desc.dtype));
  if (desc.shape.size() != 2 || columns % vector == 0 || !has_aligned_rows(graph, value)) return columns;
  return (columns + vector - 1) / vector * vector;
}

std::size_t cuda_value_bytes(const Graph& graph, ValueId value) {
  const TensorDesc& desc = graph.desc(value);
  if (desc.shape.size() != 2) return desc.bytes();
  return static_cast<std::size_t>(desc.shape[0] * cuda_row_elements(graph, value)) * size_bytes(desc.dtype);
}

int cuda_launches(const Graph& graph, const Node& node) {
  switch (node.op) {
    case Op::reshape:
      return 0;
    case Op::attention:
    case Op::attention_grad:
    case Op::joint_attention:
    case Op::joint_attention_grad:
      return cuda_attention_launches(graph, node);
    case Op::lstm:
    case Op::lstm_grad:
      return cuda_lstm_launches(graph, node);
    case Op::conv2d_batch_norm:  // sums cleared, the convolution, sums merged, the result
    case Op::conv2d_batch_norm_grad:
      return 4;
    case Op::embedding_grad:  // a float base is overwritten, without a copy
      return node.inputs.size() > 2 && graph.desc(node.inputs[2]).dtype == DType::f32 ? 1 : 2;
    case Op::batch_norm:
    case Op::batch_norm_relu:
    case Op::batch_norm_grad:
    case Op::batch_norm_relu_grad:
      return 3;  // partial sums, their sum, the result
    case Op::bias_add_grad:
    case Op::depthwise_conv2d_grad_weight:
    case Op::layer_norm_grad:
    case Op::add_layer_norm_grad:
    case Op::rms_norm_grad:
    case Op::add_rows_grad:
    case Op::cross_entropy:
    case Op::cross_entropy_grad:
    case Op::count_correct:
    case Op::all_finite:
    case Op::clip_factor:
      return 2;
    default:
      return 1;
  }
}

std::size_t cuda_workspace_bytes(const Graph& graph, const Node& node) {
  const auto [rows, channels] = rows_channels(graph.desc(node.inputs[0]));
  switch (node.op) {
    case Op::matmul:
    case Op::linear:
    case Op::matmul_add:
    case Op::linear_grad_weight:
      return cuda_product_workspace_bytes(graph, node);
    case Op::linear_gelu:
    case Op::matmul_gelu_grad:
      return cuda_product_workspace_bytes(graph, node.parts[0]);
    case Op::conv2d:
    case Op::conv2d_bias:
    case Op::conv2d_grad_input:
    case Op::conv2d_grad_weight:
      return cuda_convolution_workspace_bytes(graph, node);
    case Op::conv2d_batch_norm:
    case Op::conv2d_batch_norm_grad:
      return cuda_convolution_norm_workspace_bytes(graph, node);
    case Op::attention:
    case Op::attention_grad:
    case Op::joint_attention:
    case Op::joint_attention_grad:
      return cuda_attention_workspace_bytes(graph, node);
    case Op::lstm:
    case Op::lstm_grad:
      return cuda_lstm_workspace_bytes(graph, node);
    case Op::depthwise_conv2d:
    case Op::depthwise_conv2d_grad_input:
    case Op::depthwise_conv2d_grad_weight:
      return cuda_depthwise_workspace_bytes(graph, node);
    case Op::bias_add_grad:
      return cuda::reduction_workspace_bytes(rows, cuda_row_elements(graph, node.inputs[0]));
    case Op::batch_norm:
    case Op::batch_norm_relu:
    case Op::batch_norm_grad:
    case Op::batch_norm_relu_grad:
    case Op::layer_norm_grad:
    case Op::add_layer_norm_grad:
    case Op::rms_norm_grad:
      return cuda::reduction_workspace_bytes(rows, channels);
    case Op::add_rows_grad:
      return cuda::reduction_workspace_bytes(rows, std::get<AddRowsAttributes>(node.attributes).period * channels);
    case Op::cross_entropy:
    case Op::cross_entropy_grad:
    case Op::count_correct:
      return cuda::cross_entropy_workspace_bytes(rows);
    case Op::clip_factor:
      return cuda_clip_workspace_bytes(graph, node);
    default:
      return 0;  // most kernels need no scratch memory
  }
}

}  // namespace epochbench
