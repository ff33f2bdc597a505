// add: the sum of two tensors of one shape.
#include "src/graph/op_rule.h"

namespace epochbench {
namespace {

std::vector<TensorDesc> infer(const Graph& graph, const Node& node) {
  require(input(graph, node, 0) == input(graph, node, 1), "the two operands differ in shape or type");
  return like_first_input(graph, node);
}

void gradient(GradientBuilder& builder, const Node& node) {
  const ValueId dy = builder.gradient(node.outputs[0]);
  for (ValueId operand : node.inputs)
    if (builder.needed(operand)) builder.accumulate(operand, dy);
}

}  // namespace

const OpRule kAddRule{.infer = infer, .gradient = gradient, .in_place_inputs = {0, 1}};

}  // namespace epochbench
