// Root mean square normalization over the last dimension (Zhang and Sennrich 2019), and its composite with the shortcut before.
#include "src/graph/op_rule.h"

namespace epochbench {
namespace {

// `scale`: its position.
std::vector<TensorDesc> infer_norm(const Graph& graph, const Node& node, int scale) {
  const TensorDesc& x = input(graph, node, 0);
  require_float(x);
  require(input(graph, node, scale) == TensorDesc{{last_extent(x)}, DType::f32}, "scale must be f32 [channels]");
  return {x, {{rows(x)}, DType::f32}};
}

std::vector<TensorDesc> infer(const Graph& graph, const Node& node) { return infer_norm(graph, node, 1); }

std::vector<TensorDesc> infer_sum(const Graph& graph, const Node& node) {
  require(input(graph, node, 0) == input(graph, node, 1), "the two operands of the sum differ in shape or type");
  auto outputs = infer_norm(graph, node, 2);
  if (std::get<AddLayerNormAttributes>(node.attributes).sum) outputs.push_back(outputs[0]);
  return outputs;
}

std::vector<TensorDesc> infer_grad(const Graph& graph, const Node& node) {
  const TensorDesc& x = input(graph, node, 1);
  const TensorDesc per_channel{{last_extent(x)}, DType::f32}, per_row{{rows(x)}, DType::f32};
  require(input(graph, node, 0) == x, "dy and x differ in shape or type");
  require(input(graph, node, 2) == per_channel, "scale must be f32 [channels]");
  require(input(graph, node, 3) == per_row, "inv_rms must be f32 [rows]");
  return {x, per_channel};
}

void gradient(GradientBuilder& builder, const Node& node) {
  const ValueId x = node.inputs[0], scale = node.inputs[1];
  const auto gradients =
      builder.append(Op::rms_norm_grad, {}, {builder.gradient(node.outputs[0]), x, scale, node.outputs[1]}, node);
  builder.accumulate(scale, gradients[1]);
  if (builder.needed(x)) builder.accumulate(x, gradients[0]);
}

}  // namespace

const OpRule kRmsNormRule{.infer = infer, .gradient = gradient, .f32_parameters = true};
const OpRule kRmsNormGradRule{.infer = infer_grad, .in_place_inputs = {0}};
const OpRule kAddRmsNormRule{.infer = infer_sum, .in_place_inputs = {0, 1}};

}  // namespace epochbench
