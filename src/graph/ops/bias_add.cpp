// bias_add over the last dimension, and the sum over rows that is the bias's gradient.
#include "src/graph/op_rule.h"

namespace epochbench {
namespace {

std::vector<TensorDesc> infer(const Graph& graph, const Node& node) {
  const TensorDesc& x = input(graph, node, 0);
  require(input(graph, node, 1) == TensorDesc{{last_extent(x)}, x.dtype}, "bias must be [channels], of the input's type");
  return like_first_input(graph, node);
}

void gradient(GradientBuilder& builder, const Node& node) {
  const ValueId dy = builder.gradient(node.outputs[0]);
  if (builder.needed(node.inputs[1])) builder.accumulate(node.inputs[1], builder.append(Op::bias_add_grad, {}, {dy}, node)[0]);
  if (builder.needed(node.inputs[0])) builder.accumulate(node.inputs[0], dy);
}

std::vector<TensorDesc> infer_gradient(const Graph& graph, const Node& node) {
  const TensorDesc& dy = input(graph, node, 0);
  require_float(dy);
  return {{{last_extent(dy)}, dy.dtype}};
}

}  // namespace

const OpRule kBiasAddRule{.infer = infer, .gradient = gradient, .in_place_inputs = {0}};
const OpRule kBiasAddGradRule{.infer = infer_gradient};

}  // namespace epochbench
