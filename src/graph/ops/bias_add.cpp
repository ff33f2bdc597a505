// bias_add over the last dimension, and the sum over rows that is the bias's gradient.
#include "src/graph/op_rule.h"

namespace epochbench {
namespace {

std::vector<TensorDesc> infer(const Graph& graph, const Node& node) {
  require(input(graph, node, 1).shape == Shape{last_extent(input(graph, node, 0))}, "bias must be [channels]");
  return like_first_input(graph, node);
}

void gradient(GradientBuilder& builder, const Node& node) {
  const ValueId dy = builder.gradient(node.outputs[0]);
  if (builder.needed(node.inputs[1])) builder.accumulate(node.inputs[1], builder.append(Op::bias_add_grad, {}, {dy}, node)[0]);
  if (builder.needed(node.inputs[0])) builder.accumulate(node.inputs[0], dy);
}

std::vector<TensorDesc> infer_gradient(const Graph& graph, const Node& node) {
  return {{{last_extent(input(graph, node, 0))}, DType::f32}};
}

}  // namespace

const OpRule kBiasAddRule{.infer = infer, .gradient = gradient, .in_place_inputs = {0}};
const OpRule kBiasAddGradRule{.infer = infer_gradient};

}  // namespace epochbench
