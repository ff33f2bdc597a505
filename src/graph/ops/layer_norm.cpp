// Layer normalization over the last dimension (Ba et al. 2016), and its composites with dropout and shortcut.
#include "src/graph/op_rule.h"

namespace epochbench {
namespace {

// `scale`: its position; bias follows.
std::vector<TensorDesc> infer_norm(const Graph& graph, const Node& node, int scale) {
  const TensorDesc& x = input(graph, node, 0);
  require_float(x);
  const TensorDesc per_channel{{last_extent(x)}, DType::f32};
  require(input(graph, node, scale) == per_channel && input(graph, node, scale + 1) == per_channel,
          "scale and bias must be f32 [channels]");
  const TensorDesc per_row{{rows(x)}, DType::f32};
  return {x, per_row, per_row};
}

std::vector<TensorDesc> infer(const Graph& graph, const Node& node) { return infer_norm(graph, node, 1); }

void check_step(const Graph& graph, const Node& node, int position) {
  require(input(graph, node, position) == TensorDesc{{1}, DType::i32}, "the step must be i32 [1]");
}

std::vector<TensorDesc> infer_sum(const Graph& graph, const Node& node) {
  const auto& a = std::get<AddLayerNormAttributes>(node.attributes);
  require(input(graph, node, 0) == input(graph, node, 1), "the two operands of the sum differ in shape or type");
  auto outputs = infer_norm(graph, node, 2);
  if (a.dropout > 0) check_step(graph, node, 4);
  if (a.sum) outputs.push_back(outputs[0]);
  return outputs;
}

std::vector<TensorDesc> infer_grad(const Graph& graph, const Node& node) {
  const TensorDesc& x = input(graph, node, 1);
  const TensorDesc per_channel{{last_extent(x)}, DType::f32}, per_row{{rows(x)}, DType::f32};
  require(input(graph, node, 0) == x, "dy and x differ in shape or type");
  require(input(graph, node, 2) == per_channel, "scale must be f32 [channels]");
  require(input(graph, node, 3) == per_row && input(graph, node, 4) == per_row, "mean and inv_std must be f32 [rows]");
  return {x, per_channel, per_channel};
}

std::vector<TensorDesc> infer_sum_grad(const Graph& graph, const Node& node) {
  auto outputs = infer_grad(graph, node);
  check_step(graph, node, 5);
  outputs.push_back(outputs[0]);
  return outputs;
}

}  // namespace

const OpRule kLayerNormRule{.infer = infer, .gradient = norm_gradient<Op::layer_norm_grad>, .f32_parameters = true};
const OpRule kLayerNormGradRule{.infer = infer_grad, .in_place_inputs = {0}};
const OpRule kAddLayerNormRule{.infer = infer_sum, .in_place_inputs = {0, 1}};
const OpRule kAddLayerNormGradRule{.infer = infer_sum_grad, .in_place_inputs = {0}};

}  // namespace epochbench
