// gelu in the erf form (Hendrycks and Gimpel 2016); its gradient needs the input.
#include "src/graph/op_rule.h"

namespace epochbench {
namespace {

void gradient(GradientBuilder& builder, const Node& node) {
  const ValueId dy = builder.gradient(node.outputs[0]);
  builder.accumulate(node.inputs[0], builder.append(Op::gelu_grad, {}, {dy, node.inputs[0]}, node)[0]);
}

std::vector<TensorDesc> infer_gradient(const Graph& graph, const Node& node) {
  require(input(graph, node, 0) == input(graph, node, 1), "dy and x differ in shape or type");
  return like_first_input(graph, node);
}

}  // namespace

const OpRule kGeluRule{.infer = like_first_input, .gradient = gradient};
const OpRule kGeluGradRule{.infer = infer_gradient, .in_place_inputs = {0, 1}};

}  // namespace epochbench
