// relu and its gradient, which needs only the output.
#include "src/graph/op_rule.h"

namespace epochbench {
namespace {

void gradient(GradientBuilder& builder, const Node& node) {
  const ValueId dy = builder.gradient(node.outputs[0]);
  builder.accumulate(node.inputs[0], builder.append(Op::relu_grad, {}, {dy, node.outputs[0]}, node)[0]);
}

std::vector<TensorDesc> infer_gradient(const Graph& graph, const Node& node) {
  require(input(graph, node, 0) == input(graph, node, 1), "dy and y differ in shape or type");
  return like_first_input(graph, node);
}

}  // namespace

const OpRule kReluRule{.infer = like_first_input, .gradient = gradient, .in_place_inputs = {0}};
const OpRule kReluGradRule{.infer = infer_gradient, .in_place_inputs = {0}};

}  // namespace epochbench
